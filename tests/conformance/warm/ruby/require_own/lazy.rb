Lazy = "loaded lazily"
