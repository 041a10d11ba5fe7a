package proposal

// ContractVersion is the bid contract this package implements. It is printed in the served schema (bench contract 27 C1).
const ContractVersion = "2.15"

// MaxBodyBytes bounds the JSON text Validate reads; MaxDepth how deeply it may nest.
const (
	MaxBodyBytes = 1 << 20
	MaxDepth     = 64
)

// Lengths in code points after trimming and NFC composition (bench contract 2.11, 5.2, 5.7-5.10). The ones the contract
// leaves open are marked ours.
const (
	MaxModel           = 200 // ours
	MaxFinishLine      = 500 // ours
	MaxDisclosure      = 300
	MaxPitchTitle      = 120
	MaxPitchBody       = 600
	MaxGoal            = 300
	MaxQuestion        = 300
	MaxTitle           = 60
	MaxMinorDetail     = 140
	MaxPromise         = 1000
	MaxOddsReason      = 300
	MaxPrompt          = 300 // ours
	MaxGrantText       = 500 // ours
	MaxCapability      = 80  // ours
	MaxExposure        = 120 // ours
	MaxBlockID         = 120 // ours
	MaxBlockTitle      = 120
	MaxDescription     = 400
	MaxOptionLabel     = 200  // ours
	MaxOptionDetail    = 1000 // ours
	MaxOptionID        = 120  // ours
	MaxOptionValue     = 500  // ours
	MaxPlaceholder     = 300  // ours
	MaxFieldLabel      = 200  // ours
	MaxFieldKey        = 64   // ours
	MaxDocumentTitle   = 200
	MaxDocumentText    = 1000
	MaxBulletText      = 200
	MaxImageAlt        = 300
	MaxCostNote        = 300
	MaxCampaignGoal    = 200
	MaxCampaignText    = 60
	MaxResourceChars   = 200 // ours
	MaxOtherText       = 500 // ours
	MaxShortAnswer     = 500
	MaxCommentChars    = 2000 // ours: as long as a message of the person
	DefaultAnswerChars = 5000
	MaxAnswerChars     = 50000 // ours
)

// Counts of things in a list.
const (
	EasySteps          = 2
	MinSteps           = 3
	MaxSteps           = 15
	Goals              = 1
	QuestionSets       = 1
	Questions          = 4
	MinChoices         = 2
	MaxChoices         = 9
	MinOneOf           = 2 // real options of a control that picks one
	MinManyOf          = 3 // real options of a control that picks or orders several
	MaxRounds          = 2
	MaxBlocks          = 40  // ours: blocks of one step
	MaxOptions         = 100 // ours: options of one control
	MaxFields          = 50  // ours: fields of one form
	MaxSlots           = 50  // ours
	MaxDocumentBlocks  = 40
	MaxBullets         = 12
	MaxDocumentImages  = 6
	MaxLaterTargets    = 3
	MaxActions         = 20 // ours: actions of one connector
	MaxResources       = 50 // ours
	MaxFiles           = 50 // ours: files of one answer
	DefaultTextRows    = 4
	MaxTextRows        = 100 // ours
	MaxOperationLimit  = 10000
	MaxPersonMinutes   = 525600 // ours: a year
	FreePersonMinutes  = 30     // above it minor_detail must say why
	MaxCourtHours      = 876000 // ours: a century
	MaxTimelineDays    = 36500  // ours: a century
	MaxCents           = 1_000_000_000_000
	EasyProbability    = 0.5 // from here on a target is Easy (bench contract 4.12)
	MaxFilenameChars   = 255
	MaxSignedNameChars = 200 // ours
)

// MaxCents is our bound on one amount, ten thousand million dollars: fifteen of them still add up far inside 53 bits, so no
// sum overflows and no reader's float loses a cent.
