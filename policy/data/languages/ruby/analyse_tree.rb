require "ripper"

# Ripper's tree, with the place of each command in backquotes and of each loop.
class ProgramTree < Ripper::SexpBuilderPP
  attr_reader :problem # message and place of the first error, or nil

  def initialize(source)
    super
    @shell_starts = []
    @loop_words = []
  end

  # Where the last `while` or `until` before this place is, which is that of its
  # condition.
  def loop_word_before(place)
    @loop_words[(@loop_words.bsearch_index { |at| (at <=> place) >= 0 } || 0) - 1]
  end

  private

  def on_kw(word)
    @loop_words << [lineno, column] if word == "while" || word == "until"
    super
  end

  def on_backtick(text)
    @shell = [lineno, column]
    super
  end

  def on_heredoc_beg(text)
    @shell = [lineno, column] if text.end_with?("`")
    super
  end

  def on_xstring_new
    @shell_starts << @shell
    super
  end

  def on_xstring_literal(parts)
    [:xstring_literal, parts, @shell_starts.pop]
  end

  def on_parse_error(message)
    @problem ||= [message, [lineno || 1, column || 0]]
    super
  end

  def compile_error(message)
    @problem ||= [message, [lineno || 1, column || 0]]
    super
  end

  %i[on_alias_error on_assign_error on_class_name_error on_param_error].each do |name|
    define_method(name) do |*given|
      @problem ||= [given.grep(String).first || "not Ruby", [lineno || 1, column || 0]]
      super(*given)
    end
  end
end
