"""Would the tests notice a wrong line?"""
