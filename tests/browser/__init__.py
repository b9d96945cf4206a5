"""Do the live views work where people look at them: in JupyterLab, in a browser?"""
