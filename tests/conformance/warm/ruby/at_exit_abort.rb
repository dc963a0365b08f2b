at_exit { abort "words of abort" }
at_exit { p $!.class, $!.status, $!.success? }
exit true
