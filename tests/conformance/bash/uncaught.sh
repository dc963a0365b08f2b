#!/bin/bash

inner() {
  echo "${NO_SUCH_VARIABLE:?boom-42}"
}

outer() {
  inner
}

outer
echo "never printed"
