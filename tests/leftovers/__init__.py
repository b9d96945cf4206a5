"""Does a block change what comes after it?"""
