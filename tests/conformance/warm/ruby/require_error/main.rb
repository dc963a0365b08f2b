require_relative "raises"
