#!/bin/bash

text="Grüße, 世界 🌍"

echo "$text"
echo "${#text}"
