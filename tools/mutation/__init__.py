"""A mutation run over policy/: are there tests for what it does?"""
