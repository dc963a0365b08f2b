# Prints facts about the Ruby files named by its arguments, of which the first is
# the program's own (docs/analysers.md). It runs nothing of the program.
require_relative "analyse_facts"
require_relative "analyse_names"
require_relative "analyse_tree"
require_relative "analyse_program"

begin
  raise ArgumentError, "usage: analyse.rb FILE…" if ARGV.empty?
  $stdout.binmode
  $stdout.write(facts_of(ARGV.map { |path| [path, File.binread(path)] }))
rescue StandardError, SystemStackError, NoMemoryError => error
  warn("the program can't be analysed: #{error.message.lines.first}")
  exit(1)
end
