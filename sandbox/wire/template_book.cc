#include "sandbox/wire/template_book.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace sandglass::sandbox {
namespace {

bool ReadAt(const os::Fd& file, off_t offset, char* data, size_t size) {
  return ::pread(file.get(), data, size, offset) == static_cast<ssize_t>(size);
}

}  // namespace

TemplateBook::TemplateBook(const internal::SpawnerConfig& config, os::Fd ledger)
    : caps_disks_(config.disks_size() > 0), ledger_(std::move(ledger)) {
  for (const internal::Template& each : config.templates()) Add(each);
}

void TemplateBook::Add(internal::Template added) {
  if (!caps_disks_) added.mutable_maximum()->clear_disk();
  const std::string name = added.name();
  templates_.emplace(name, std::move(added));
}

const internal::Template* TemplateBook::Find(const std::string& name) {
  auto found = templates_.find(name);
  if (found == templates_.end() && ledger_.valid()) {
    ReadOn();
    found = templates_.find(name);
  }
  return found == templates_.end() ? nullptr : &found->second;
}

void TemplateBook::ReadOn() {
  struct stat info = {};
  if (::fstat(ledger_.get(), &info) != 0) return;
  uint32_t size = 0;
  while (ReadAt(ledger_, read_, reinterpret_cast<char*>(&size), sizeof(size))) {
    const off_t begin = read_ + static_cast<off_t>(sizeof(size));
    if (info.st_size - begin < static_cast<off_t>(size)) return;
    std::string record(size, '\0');
    internal::Template added;
    if (!ReadAt(ledger_, begin, record.data(), size) ||
        !added.ParseFromString(record)) {
      return;
    }
    read_ = begin + static_cast<off_t>(size);
    Add(std::move(added));
  }
}

}  // namespace sandglass::sandbox
