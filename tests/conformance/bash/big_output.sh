#!/bin/bash

seq -f 'line %.0f' 0 199999
