package wants

import "guildhall/pkg/op"

// Operations of wants.
var Operations = []*op.Operation{Post, List, Read, Edit, AddNote, Close, Repost, Attach, Classes, SetClass, SetTargetOdds}
