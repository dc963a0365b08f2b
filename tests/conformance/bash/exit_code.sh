#!/bin/bash

echo "leaving"
exit 7
