require "logger"
log = Logger.new($stdout, formatter: ->(s, _, _, m) { "#{s}: #{m}\n" })
log.info("info")
log.warn { "lazy" }
log.level = :error
log.info("never")
Logger.new($stderr).tap { |l| l.formatter = proc { |*a| "#{a[3]}\n" } }.error("err")
