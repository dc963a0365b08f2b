#!/usr/bin/python3
"""Prints the project's files with the given suffixes, one a line.

usage: list_files.py DIR SUFFIX…
"""

import sys

import project

if __name__ == "__main__":
    for found in project.files(sys.argv[1], *sys.argv[2:]):
        print(found)
