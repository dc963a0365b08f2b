#!/bin/bash

(
  sleep 600 &
  sleep 600
) &

echo "parent done"
