#!/usr/bin/ruby -Ku -Eascii-8bit:utf-8
p __ENCODING__, Encoding.default_external, Encoding.default_internal, $stdin.external_encoding
