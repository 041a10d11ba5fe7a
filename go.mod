module guildhall

go 1.26
