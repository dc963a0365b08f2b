#include "policy/libraries/import_names.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"

namespace sandglass::policy {
namespace {

struct Provided {
  absl::string_view import;
  absl::string_view library;
};

// The lists are sorted by their bytes, for binary search. The first ones were
// checked by hand: what the lists below lack, or have otherwise.
constexpr Provided kPythonImports[] = {
    {"Crypto", "pycryptodome"},
    {"MDAnalysis", "mdanalysis"},
    {"accelerate", "accelerate"},
    {"arcade", "arcade"},
    {"bokeh", "bokeh"},
    {"catboost", "catboost"},
    {"ccxt", "ccxt"},
    {"chromadb", "chromadb"},
    {"cohere", "cohere"},
    {"community", "python-louvain"},
    {"control", "control"},
    {"crewai", "crewai"},
    {"cupy", "cupy-cuda12x"},
    {"cv2", "opencv-python"},
    {"cvxpy", "cvxpy"},
    {"diffusers", "diffusers"},
    {"eth_account", "eth-account"},
    {"faiss", "faiss-cpu"},
    {"fpdf", "fpdf2"},
    {"google.cloud.bigquery", "google-cloud-bigquery"},
    {"google.cloud.storage", "google-cloud-storage"},
    {"gradio", "gradio"},
    {"groq", "groq"},
    {"grpc_status", "grpcio-status"},
    {"jax", "jax"},
    {"keras", "keras"},
    {"librosa", "librosa"},
    {"llama_index", "llama-index"},
    {"mesa", "mesa"},
    {"mlflow", "mlflow"},
    {"moviepy", "moviepy"},
    {"mysql", "mysql-connector-python"},
    {"onnxruntime", "onnxruntime"},
    {"ortools", "ortools"},
    {"peft", "peft"},
    {"pinecone", "pinecone"},
    {"pkg_resources", "setuptools"},
    {"playwright", "playwright"},
    {"pmdarima", "pmdarima"},
    {"pptx", "python-pptx"},
    {"prophet", "prophet"},
    {"psycopg2", "psycopg2-binary"},
    {"pyarrow", "pyarrow"},
    {"rapidfuzz", "rapidfuzz"},
    {"ray", "ray"},
    {"rdkit", "rdkit"},
    {"safetensors", "safetensors"},
    {"shap", "shap"},
    {"sksparse", "scikit-sparse"},
    {"spacy", "spacy"},
    {"speech_recognition", "speechrecognition"},
    {"surprise", "scikit-surprise"},
    {"talib", "ta-lib"},
    {"tensorflow", "tensorflow"},
    {"textblob", "textblob"},
    {"tokenizers", "tokenizers"},
    {"wandb", "wandb"},
    {"web3", "web3"},
    {"win32api", "pywin32"}};

constexpr Provided kRubyImports[] = {{"concurrent", "concurrent-ruby"},
                                     {"dry/struct", "dry-struct"},
                                     {"dry/validation", "dry-validation"},
                                     {"google/protobuf", "google-protobuf"},
                                     {"minitest/autorun", "minitest"},
                                     {"net/ftp", "net-ftp"},
                                     {"net/imap", "net-imap"},
                                     {"net/pop", "net-pop"},
                                     {"net/scp", "net-scp"},
                                     {"net/sftp", "net-sftp"},
                                     {"net/smtp", "net-smtp"},
                                     {"net/ssh", "net-ssh"},
                                     {"prawn/table", "prawn-table"},
                                     {"rack/test", "rack-test"},
                                     {"rspec/core", "rspec"}};

// What imports/collect.py found in the metadata of distributions: lines of an
// import and its library, sorted like the others.
constexpr absl::string_view kPythonMetadata =
#include "policy/libraries/python_imports.inc"
    ;
constexpr absl::string_view kRubyMetadata =
#include "policy/libraries/ruby_imports.inc"
    ;

// A package also stands for those below it.
constexpr Provided kJavaImports[] = {
    {"com.fasterxml.jackson.annotation",
     "com.fasterxml.jackson.core:jackson-annotations"},
    {"com.fasterxml.jackson.core", "com.fasterxml.jackson.core:jackson-core"},
    {"com.fasterxml.jackson.databind",
     "com.fasterxml.jackson.core:jackson-databind"},
    {"com.google.common", "com.google.guava:guava"},
    {"com.google.gson", "com.google.code.gson:gson"},
    {"com.google.protobuf", "com.google.protobuf:protobuf-java"},
    {"io.reactivex.rxjava3", "io.reactivex.rxjava3:rxjava"},
    {"io.vavr", "io.vavr:vavr"},
    {"lombok", "org.projectlombok:lombok"},
    {"okhttp3", "com.squareup.okhttp3:okhttp"},
    {"org.apache.commons.codec", "commons-codec:commons-codec"},
    {"org.apache.commons.collections4",
     "org.apache.commons:commons-collections4"},
    {"org.apache.commons.compress", "org.apache.commons:commons-compress"},
    {"org.apache.commons.csv", "org.apache.commons:commons-csv"},
    {"org.apache.commons.io", "commons-io:commons-io"},
    {"org.apache.commons.lang3", "org.apache.commons:commons-lang3"},
    {"org.apache.commons.math3", "org.apache.commons:commons-math3"},
    {"org.apache.commons.text", "org.apache.commons:commons-text"},
    {"org.apache.logging.log4j", "org.apache.logging.log4j:log4j-api"},
    {"org.apache.pdfbox", "org.apache.pdfbox:pdfbox"},
    {"org.apache.poi", "org.apache.poi:poi"},
    {"org.apache.poi.xssf", "org.apache.poi:poi-ooxml"},
    {"org.h2", "com.h2database:h2"},
    {"org.hamcrest", "org.hamcrest:hamcrest"},
    {"org.joda.time", "joda-time:joda-time"},
    {"org.json", "org.json:json"},
    {"org.jsoup", "org.jsoup:jsoup"},
    {"org.junit", "junit:junit"},
    {"org.junit.jupiter", "org.junit.jupiter:junit-jupiter"},
    {"org.mockito", "org.mockito:mockito-core"},
    {"org.slf4j", "org.slf4j:slf4j-api"},
    {"org.sqlite", "org.xerial:sqlite-jdbc"},
    {"org.yaml.snakeyaml", "org.yaml:snakeyaml"}};

// The union of sys.stdlib_module_names of several versions.
constexpr absl::string_view kPythonStandard[] = {
    "abc",          "aifc",        "argparse",     "array",
    "ast",          "asynchat",    "asyncio",      "asyncore",
    "atexit",       "audioop",     "base64",       "bdb",
    "binascii",     "bisect",      "builtins",     "bz2",
    "cProfile",     "calendar",    "cgi",          "cgitb",
    "chunk",        "cmath",       "cmd",          "code",
    "codecs",       "codeop",      "collections",  "colorsys",
    "compileall",   "concurrent",  "configparser", "contextlib",
    "contextvars",  "copy",        "copyreg",      "crypt",
    "csv",          "ctypes",      "curses",       "dataclasses",
    "datetime",     "dbm",         "decimal",      "difflib",
    "dis",          "distutils",   "doctest",      "email",
    "encodings",    "ensurepip",   "enum",         "errno",
    "faulthandler", "fcntl",       "filecmp",      "fileinput",
    "fnmatch",      "fractions",   "ftplib",       "functools",
    "gc",           "genericpath", "getopt",       "getpass",
    "gettext",      "glob",        "graphlib",     "grp",
    "gzip",         "hashlib",     "heapq",        "hmac",
    "html",         "http",        "idlelib",      "imaplib",
    "imghdr",       "imp",         "importlib",    "inspect",
    "io",           "ipaddress",   "itertools",    "json",
    "keyword",      "lib2to3",     "linecache",    "locale",
    "logging",      "lzma",        "mailbox",      "mailcap",
    "marshal",      "math",        "mimetypes",    "mmap",
    "modulefinder", "msilib",      "msvcrt",       "multiprocessing",
    "netrc",        "nis",         "nntplib",      "nt",
    "ntpath",       "nturl2path",  "numbers",      "opcode",
    "operator",     "optparse",    "os",           "ossaudiodev",
    "pathlib",      "pdb",         "pickle",       "pickletools",
    "pipes",        "pkgutil",     "platform",     "plistlib",
    "poplib",       "posix",       "posixpath",    "pprint",
    "profile",      "pstats",      "pty",          "pwd",
    "py_compile",   "pyclbr",      "pydoc",        "pydoc_data",
    "pyexpat",      "queue",       "quopri",       "random",
    "re",           "readline",    "reprlib",      "resource",
    "rlcompleter",  "runpy",       "sched",        "secrets",
    "select",       "selectors",   "shelve",       "shlex",
    "shutil",       "signal",      "site",         "smtpd",
    "smtplib",      "sndhdr",      "socket",       "socketserver",
    "spwd",         "sqlite3",     "sre_compile",  "sre_constants",
    "sre_parse",    "ssl",         "stat",         "statistics",
    "string",       "stringprep",  "struct",       "subprocess",
    "sunau",        "symtable",    "sys",          "sysconfig",
    "syslog",       "tabnanny",    "tarfile",      "telnetlib",
    "tempfile",     "termios",     "textwrap",     "threading",
    "time",         "timeit",      "tkinter",      "token",
    "tokenize",     "tomllib",     "trace",        "traceback",
    "tracemalloc",  "tty",         "turtle",       "turtledemo",
    "types",        "typing",      "unicodedata",  "unittest",
    "urllib",       "uu",          "uuid",         "venv",
    "warnings",     "wave",        "weakref",      "webbrowser",
    "winreg",       "winsound",    "wsgiref",      "xdrlib",
    "xml",          "xmlrpc",      "zipapp",       "zipfile",
    "zipimport",    "zlib",        "zoneinfo"};

constexpr absl::string_view kNodeStandard[] = {"assert",
                                               "async_hooks",
                                               "buffer",
                                               "child_process",
                                               "cluster",
                                               "console",
                                               "constants",
                                               "crypto",
                                               "dgram",
                                               "diagnostics_channel",
                                               "dns",
                                               "domain",
                                               "events",
                                               "fs",
                                               "http",
                                               "http2",
                                               "https",
                                               "inspector",
                                               "module",
                                               "net",
                                               "os",
                                               "path",
                                               "perf_hooks",
                                               "process",
                                               "punycode",
                                               "querystring",
                                               "readline",
                                               "repl",
                                               "stream",
                                               "string_decoder",
                                               "sys",
                                               "timers",
                                               "tls",
                                               "trace_events",
                                               "tty",
                                               "url",
                                               "util",
                                               "v8",
                                               "vm",
                                               "wasi",
                                               "worker_threads",
                                               "zlib"};

constexpr absl::string_view kRubyStandard[] = {
    "English",     "abbrev",   "base64",       "benchmark", "bigdecimal",
    "cgi",         "coverage", "csv",          "date",      "delegate",
    "digest",      "drb",      "erb",          "etc",       "expect",
    "fcntl",       "fiddle",   "fileutils",    "find",      "forwardable",
    "getoptlong",  "io",       "ipaddr",       "irb",       "json",
    "logger",      "matrix",   "monitor",      "mutex_m",   "net",
    "nkf",         "objspace", "observer",     "open-uri",  "open3",
    "openssl",     "optparse", "ostruct",      "pathname",  "pp",
    "prettyprint", "prime",    "pstore",       "psych",     "pty",
    "racc",        "rdoc",     "readline",     "reline",    "resolv",
    "rinda",       "ripper",   "securerandom", "set",       "shellwords",
    "singleton",   "socket",   "stringio",     "strscan",   "syslog",
    "tempfile",    "time",     "timeout",      "tmpdir",    "tracer",
    "tsort",       "un",       "uri",          "weakref",   "yaml",
    "zlib"};

template <size_t kSize>
absl::string_view Lookup(const Provided (&table)[kSize],
                         absl::string_view name) {
  const auto found =
      std::lower_bound(std::begin(table), std::end(table), name,
                       [](const Provided& each, absl::string_view wanted) {
                         return each.import < wanted;
                       });
  return found != std::end(table) && found->import == name
             ? found->library
             : absl::string_view();
}

template <size_t kSize>
bool Has(const absl::string_view (&list)[kSize], absl::string_view name) {
  return std::binary_search(std::begin(list), std::end(list), name);
}

// Does the same in lines.
absl::string_view LookupLine(absl::string_view lines, absl::string_view name) {
  while (!lines.empty()) {
    const size_t middle = lines.rfind('\n', lines.size() / 2);
    const size_t begin = middle == absl::string_view::npos ? 0 : middle + 1;
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    const absl::string_view line = lines.substr(begin, end - begin);
    const absl::string_view import = line.substr(0, line.find(' '));
    if (import == name) return line.substr(import.size() + 1);
    lines = import < name ? lines.substr(std::min(end + 1, lines.size()))
                          : lines.substr(0, begin > 0 ? begin - 1 : 0);
  }
  return {};
}

// Finds the longest prefix of the name, in whole parts, that is in the table or
// the lines.
template <size_t kSize>
absl::string_view LookupPrefix(const Provided (&table)[kSize],
                               absl::string_view lines, absl::string_view name,
                               char separator) {
  while (true) {
    absl::string_view library = Lookup(table, name);
    if (library.empty()) library = LookupLine(lines, name);
    if (!library.empty()) return library;
    const size_t last = name.rfind(separator);
    if (last == absl::string_view::npos) return {};
    name = name.substr(0, last);
  }
}

bool IsBelow(absl::string_view name, absl::string_view package) {
  return absl::StartsWith(name, package) &&
         (name.size() == package.size() || name[package.size()] == '.');
}

}  // namespace

absl::string_view LibraryOfImport(Ecosystem ecosystem, absl::string_view name) {
  switch (ecosystem) {
    case Ecosystem::kPython:
      return LookupPrefix(kPythonImports, kPythonMetadata, name, '.');
    case Ecosystem::kRuby:
      return LookupPrefix(kRubyImports, kRubyMetadata, name, '/');
    case Ecosystem::kJava:
      return LookupPrefix(kJavaImports, {}, name, '.');
    case Ecosystem::kNode:
    case Ecosystem::kGo:
      break;
  }
  return {};
}

bool IsStandardLibrary(Ecosystem ecosystem, absl::string_view name) {
  switch (ecosystem) {
    case Ecosystem::kPython:
      return Has(kPythonStandard, name.substr(0, name.find('.')));
    case Ecosystem::kRuby:
      return Has(kRubyStandard, name.substr(0, name.find('/')));
    case Ecosystem::kNode:
      return absl::StartsWith(name, "node:") ||
             Has(kNodeStandard, name.substr(0, name.find('/')));
    case Ecosystem::kGo:
      // In all other paths the first part is a host.
      return !absl::StrContains(name.substr(0, name.find('/')), ".");
    case Ecosystem::kJava:
      for (const absl::string_view package :
           {"java", "javax", "jdk", "sun", "com.sun"}) {
        if (IsBelow(name, package)) return true;
      }
      return false;
  }
  return false;
}

}  // namespace sandglass::policy
