"""Does a block change the behaviour of the code after it?"""
