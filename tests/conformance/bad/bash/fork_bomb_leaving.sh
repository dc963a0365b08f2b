#!/bin/bash

bomb() {
  bomb | bomb &
}

# The one fork of the main process comes before there are other processes that
# could take its place; from then on it only waits.
bomb &
while ((SECONDS < 1)); do :; done
echo "leaving"
