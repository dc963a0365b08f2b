#!/bin/bash

trap '' HUP INT TERM

while :; do
  :
done
