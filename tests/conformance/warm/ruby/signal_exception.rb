raise SignalException, "SIGHUP"
