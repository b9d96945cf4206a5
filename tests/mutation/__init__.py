"""Would the tests notice if a line were wrong?"""
