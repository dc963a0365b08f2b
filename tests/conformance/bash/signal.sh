#!/bin/bash

kill -TERM "$$"
