#!/bin/bash

output=$(/bin/echo child $((6 * 7)))
echo "got: $output"
