_print_facts(sys.argv[1:])
