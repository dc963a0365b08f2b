#!/bin/bash

count=0
while IFS= read -r line || [[ -n $line ]]; do
  echo "${#line}"
  ((count += 1))
done
echo "lines: $count"
