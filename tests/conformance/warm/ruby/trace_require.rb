seen = []
t = TracePoint.new(:script_compiled) { |e| seen << [e.instruction_sequence.path, e.instruction_sequence.label] }
File.write("part.rb", "PART = caller(0).first")
t.enable { require_relative "part"; require "set" }
p seen, PART, Set.instance_method(:add).source_location
