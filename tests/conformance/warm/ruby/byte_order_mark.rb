p __ENCODING__, "ü".size
