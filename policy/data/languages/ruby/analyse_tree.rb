# Ripper itself, without its library in Ruby, which takes longer to load than
# most programs to be read.
require "ripper.so"

# The tree that Ripper::SexpBuilderPP makes: [:event, ...], and lists.
class TreeBuilder < Ripper
  private

  PARSER_EVENT_TABLE.each do |event, count|
    name = event.name
    if count.zero? && name.end_with?("_new")
      define_method("on_#{name}") { [] }
    elsif name.end_with?("_add")
      define_method("on_#{name}") { |list, item| list.push(item) }
    else
      define_method("on_#{name}") { |*given| given.unshift(event) }
    end
  end

  SCANNER_EVENT_TABLE.each_key do |event|
    word = :"@#{event}"
    define_method("on_#{event}") { |text| [word, text, [lineno, column]] }
  end

  def on_mlhs_paren(list) = [:mlhs, *list]
  def on_mlhs_add_star(list, star) = list.push([:rest_param, star])
  def on_mlhs_add_post(list, rest) = list.concat(rest)

  def on_heredoc_dedent(parts, width)
    parts.each do |part|
      next unless part.is_a?(Array) && part[0] == :@tstring_content
      part[2][1] += dedent_string(part[1], width)
    end
  end

  # What Ripper tells by these isn't asked for.
  def warn(*) = nil
  def warning(*) = nil
  def compile_error(*) = nil
end

# With the place of each command in backquotes and of each loop.
class ProgramTree < TreeBuilder
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
