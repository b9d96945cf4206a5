"""What a cell or a notebook will take on a card that is not there: it is run again, in a process of its own."""
