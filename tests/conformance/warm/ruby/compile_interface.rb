p RubyVM::InstructionSequence.compile("1 + 1").eval, RubyVM::InstructionSequence.compile_option
p RubyVM::InstructionSequence.of(proc { 1 }).path, RubyVM::InstructionSequence.compile_file(__FILE__).label
def RubyVM::InstructionSequence.load_iseq(path)
  path.end_with?("/set.rb") ? compile("MINE = 1", "mine", path) : nil
end
require "set"
p MINE, defined?(Set)
