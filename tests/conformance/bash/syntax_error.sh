#!/bin/bash
echo "bash reads on as it runs: this is printed"
echo "never printed" )
echo "nor is this"
