# What an analyser tells: facts, as docs/analysers.md has them.
class Facts
  MOST_FACTS = 4096
  MOST_BYTES = 256 * 1024
  MOST_TEXT = 200
  LAST_LINE_BYTES = 16

  def initialize
    @facts = {}
  end

  # `place` is [line, column] as Ripper has it: from 1, and bytes from 0.
  def tell(kind, file, place, name, detail = "")
    key = [kind, clean(name), clean(detail)]
    at = [file, *place]
    fact = @facts[key]
    if fact.nil?
      @facts[key] = [at, 1, @facts.size]
    else
      fact[0] = at if (at <=> fact[0]) < 0
      fact[1] += 1
    end
  end

  def text
    text = +"sandglass-facts 1\n"
    @facts.sort_by { |_, (at, _, number)| [at, number] }.each_with_index do |entry, told|
      (kind, name, detail), ((file, line, column), count) = entry
      fact = [kind, file, line, column + 1, count, name, detail].join("\t") << "\n"
      if told == MOST_FACTS || text.bytesize + fact.bytesize > MOST_BYTES - LAST_LINE_BYTES
        return text << "overflow\n"
      end
      text << fact
    end
    text << "end\n"
  end

  private

  # UTF-8 without control characters, cut at a character.
  def clean(text)
    text = text.byteslice(0, MOST_TEXT + 4).force_encoding(Encoding::UTF_8)
    text = text.byteslice(0, MOST_TEXT) if (cut = text.bytesize > MOST_TEXT)
    # What is left of a character that was cut.
    text = text.byteslice(0, text.bytesize - 1) while cut && broken_end?(text)
    text.scrub("?").gsub(/[\x00-\x1f\x7f]/, "?")
  end

  def broken_end?(text)
    last = text[-1]
    last && !last.valid_encoding?
  end
end
