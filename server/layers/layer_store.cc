#include "server/layers/layer_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "policy/text/json_reader.h"
#include "server/base/digest.h"
#include "server/base/durable_log.h"
#include "server/base/log.h"
#include "server/base/state_dir.h"
#include "server/base/strings.h"
#include "server/layers/layer_files.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;

constexpr char kSetting[] = "libraries.dir";
constexpr char kTree[] = "tree";
constexpr absl::Duration kNoteUseEvery = absl::Seconds(10);
constexpr char kNew[] = ".new-";
constexpr char kGone[] = ".gone-";
constexpr size_t kIdDigits = 64;
constexpr int kTopFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

bool IsId(const std::string& name) {
  return name.size() == kIdDigits && IsLowerHex(name);
}

std::string Own(const std::string& tree) {
  return tree.substr(0, tree.rfind('/'));
}

void LogDamaged(const std::string& id, const absl::Status& why) {
  Log(LogLevel::kWarning, "layer_damaged",
      {{"layer_id", id}, {"error", std::string(why.message())}});
}

}  // namespace

std::string LayerKey::Hex() const {
  if (!hex.empty()) return hex;
  Digest digest;
  digest.Add("sandglass layer key 1");
  digest.Add(policy::EcosystemName(ecosystem));
  digest.Add(libraries);
  digest.Add(toolchain);
  digest.Add(registry);
  if (!lock.empty()) digest.Add(lock);
  if (!owner.empty()) digest.Add(absl::StrCat("owner ", owner));
  return digest.Hex();
}

LayerStore::Staging::~Staging() {
  if (!own_.empty()) RemoveTree(own_);
}

absl::StatusOr<std::unique_ptr<LayerStore>> LayerStore::Open(
    const std::string& directory, uid_t owner, gid_t group,
    const LayerStoreOptions& options) {
  // What is in this directory is used in jails, which belong to other users
  // than this server.
  absl::StatusOr<os::Fd> fd =
      AdoptDirectory(directory, owner, group, 0755, kSetting);
  if (!fd.ok()) return fd.status();
  if (::flock(fd->get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "another sandglassd keeps its libraries in ", Quoted(directory, 256),
        "; stop it, or give this one another \"", kSetting, "\""));
  }
  std::unique_ptr<LayerStore> store(
      new LayerStore(directory, *std::move(fd), options));
  store->Load();
  store->EvictOld();
  return store;
}

void LayerStore::Load() {
  std::error_code error;
  std::vector<Layer> found;
  for (const fs::directory_entry& each : fs::directory_iterator(path_, error)) {
    const std::string name = each.path().filename().string();
    if (absl::StartsWith(name, kNew) || absl::StartsWith(name, kGone)) {
      RemoveTree(each.path().string());
    }
    if (!IsId(name)) continue;
    absl::StatusOr<Layer> layer = LoadOne(name);
    if (layer.ok()) {
      found.push_back(*std::move(layer));
      continue;
    }
    LogDamaged(name, layer.status());
    RemoveTree(each.path().string());
  }
  absl::MutexLock lock(&mutex_);
  std::sort(found.begin(), found.end(), [](const Layer& a, const Layer& b) {
    return std::pair(a.info.created, a.info.id) <
           std::pair(b.info.created, b.info.id);
  });
  std::vector<std::pair<absl::Time, std::string>> uses;
  for (Layer& layer : found) {
    const std::string id = layer.info.id;
    uses.emplace_back(layer.info.last_used, id);
    const std::map<std::string, std::string> keys = layer.keys;
    layers_.emplace(id, std::move(layer));
    for (const auto& [key, libraries] : keys) AssignKey(key, id);
  }
  std::sort(uses.begin(), uses.end());
  for (const auto& [used, id] : uses) {
    const auto layer = layers_.find(id);
    if (layer != layers_.end()) order_.Put(id, layer->second.info.bytes);
  }
}

absl::StatusOr<LayerStore::Layer> LayerStore::LoadOne(
    const std::string& id) const {
  const std::string own = absl::StrCat(path_, "/", id);
  const std::string path = absl::StrCat(own, "/", kLayerRecord);
  absl::StatusOr<policy::JsonDocument> document =
      policy::JsonDocument::ReadFile(path);
  if (!document.ok()) return document.status();
  policy::JsonObject root = document->root();
  Layer layer;
  const std::string language = root.String("ecosystem");
  layer.info.bytes = root.Unsigned("bytes");
  layer.info.files = root.Unsigned("files");
  constexpr uint64_t kMaxNanos = uint64_t{1} << 62;
  layer.info.created = absl::FromUnixNanos(
      static_cast<int64_t>(root.Unsigned("created_ns", {0, kMaxNanos})));
  for (auto& [key, libraries] : root.StringMap("keys")) {
    layer.keys[key] = libraries;
  }
  if (absl::Status s = document->Finish(); !s.ok()) return s;
  const auto ecosystem = policy::EcosystemOfLanguage(language);
  struct stat info = {};
  if (!ecosystem || ::stat(path.c_str(), &info) != 0) {
    return absl::DataLossError("the layer's record is damaged");
  }
  layer.info.ecosystem = *ecosystem;
  layer.info.last_used = absl::TimeFromTimespec(info.st_mtim);
  layer.info.id = id;
  layer.held =
      std::make_shared<const Held>(Held{id, absl::StrCat(own, "/", kTree)});
  return layer;
}

absl::Status LayerStore::WriteRecord(const Layer& layer,
                                     const std::string& own) const {
  nlohmann::json record;
  record["ecosystem"] = policy::EcosystemName(layer.info.ecosystem);
  record["bytes"] = layer.info.bytes;
  record["files"] = layer.info.files;
  record["created_ns"] = absl::ToUnixNanos(layer.info.created);
  record["keys"] = layer.keys;
  return WriteWhole(own, kLayerRecord, record.dump(2) + "\n");
}

bool LayerStore::LooksGood(const Held& held) const {
  const absl::StatusOr<LayerManifest> manifest =
      ReadLayerManifest(Own(held.path), held.id);
  const os::Fd top(::open(held.path.c_str(), kTopFlags));
  return manifest.ok() && top.valid() && LooksUntouched(top, *manifest);
}

LayerWatch::Ticket LayerStore::Watch(const Held& held) {
  const std::string own = Own(held.path);
  const absl::StatusOr<LayerManifest> manifest =
      ReadLayerManifest(own, held.id);
  if (!manifest.ok()) return 0;
  std::vector<std::string> directories = {own};
  for (const LayerEntry& entry : manifest->entries) {
    if (entry.type != 'd') continue;
    directories.push_back(absl::StrCat(held.path, "/", entry.path));
  }
  return watch_.Begin(held.id, directories);
}

absl::Status LayerStore::ReadAll(const Held& held) const {
  const std::string own = Own(held.path);
  const absl::StatusOr<LayerManifest> written = ReadLayerManifest(own, held.id);
  if (!written.ok()) return written.status();
  const os::Fd top(::open(held.path.c_str(), kTopFlags));
  if (!top.valid() && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) {
    return absl::DataLossError("the layer's tree isn't there");
  }
  if (!top.valid()) return DiskError("open a layer's tree");
  const LayerBounds bounds = {written->bytes(), written->files()};
  const absl::StatusOr<LayerManifest> now =
      ScanLayer(top, bounds, ScanMode::kLook);
  if (absl::IsInvalidArgument(now.status()) ||
      absl::IsResourceExhausted(now.status())) {
    return absl::DataLossError(
        absl::StrCat("the layer was changed: ", now.status().message()));
  }
  if (!now.ok()) return now.status();
  if (now->Id() != held.id) {
    return absl::DataLossError("the layer was changed");
  }
  // After a copy of the directory, for example, the contents are the same but
  // the files were made anew.
  if (now->entries != written->entries) {
    return WriteWhole(own, kLayerManifest, now->ToText());
  }
  return absl::OkStatus();
}

std::optional<LayerStore::Pin> LayerStore::Find(const LayerKey& key) {
  std::optional<Pin> pin;
  bool read = false;
  const std::string hex = key.Hex();
  {
    absl::MutexLock lock(&mutex_);
    const auto id = ids_.find(hex);
    if (id == ids_.end()) return std::nullopt;
    const Layer& layer = layers_.at(id->second);
    pin = Pin(layer.held);
    read = layer.read_since_start;
  }
  absl::Status state;
  if (!read || !watch_.IsUntouched(pin->id())) {
    // ORDER: the watch begins first, so that it notices what is touched during
    // the check.
    const LayerWatch::Ticket ticket = Watch(*pin->held_);
    if (!read || !LooksGood(*pin->held_)) state = ReadAll(*pin->held_);
    if (state.ok()) watch_.Confirm(pin->id(), ticket);
  }
  if (absl::IsDataLoss(state)) {
    Drop(*std::exchange(pin, std::nullopt), state);
    return std::nullopt;
  }
  if (!state.ok()) {
    Log(LogLevel::kWarning, "layer_not_read",
        {{"layer_id", pin->id()}, {"error", std::string(state.message())}});
    return std::nullopt;
  }
  absl::MutexLock lock(&mutex_);
  const auto layer = layers_.find(pin->id());
  // Another thread found the layer damaged meanwhile.
  if (layer == layers_.end()) return std::nullopt;
  layer->second.read_since_start = true;
  RecordUse(layer->second);
  return pin;
}

absl::StatusOr<LayerStore::Staging> LayerStore::Begin() {
  std::string own;
  {
    absl::MutexLock lock(&mutex_);
    own = absl::StrCat(path_, "/", kNew, ++next_name_);
  }
  if (::mkdir(own.c_str(), 0755) != 0) {
    return DiskError("make a layer's directory");
  }
  Staging staging(own);
  // The umask must not change the mode.
  if (::chmod(own.c_str(), 0755) != 0 ||
      ::mkdir(staging.path().c_str(), 0755) != 0 ||
      ::chmod(staging.path().c_str(), 0755) != 0) {
    return DiskError("make a layer's directory");
  }
  return staging;
}

absl::StatusOr<LayerStore::Pin> LayerStore::Commit(const LayerKey& key,
                                                   Staging staging) {
  const os::Fd top(::open(staging.path().c_str(), kTopFlags));
  if (!top.valid()) return DiskError("open what was installed");
  const absl::StatusOr<LayerManifest> manifest =
      ScanLayer(top, options_.each, ScanMode::kSeal);
  if (!manifest.ok()) return manifest.status();
  if (manifest->files() == 0) {
    return absl::InvalidArgumentError("nothing was installed");
  }
  Layer layer;
  const std::string id = layer.info.id = manifest->Id();
  layer.held = std::make_shared<const Held>(
      Held{id, absl::StrCat(path_, "/", id, "/", kTree)});
  layer.info.ecosystem = key.ecosystem;
  layer.keys[key.Hex()] = key.libraries;
  layer.info.bytes = manifest->bytes();
  layer.info.files = manifest->files();
  layer.info.created = layer.info.last_used = absl::Now();
  layer.read_since_start = true;
  absl::Status written =
      WriteWhole(staging.own_, kLayerManifest, manifest->ToText());
  if (written.ok()) written = WriteRecord(layer, staging.own_);
  // There is no sync, which would wait for everything that others wrote, too.
  // It isn't needed: after a crash of the machine a layer is read before its
  // first use, and dropped if it isn't complete.
  if (!written.ok()) return written;
  absl::StatusOr<Pin> pin = [&] {
    absl::MutexLock lock(&mutex_);
    const bool known = layers_.count(id) != 0;
    absl::StatusOr<Pin> adopted = Adopt(key, std::move(layer), staging.own_);
    if (adopted.ok() && !known) staging.own_.clear();
    return adopted;
  }();
  RemoveGone();
  return pin;
}

absl::StatusOr<LayerStore::Pin> LayerStore::Adopt(const LayerKey& key,
                                                  Layer layer,
                                                  const std::string& own) {
  const std::string hex = key.Hex();
  const std::string id = layer.info.id;
  const auto known = layers_.find(id);
  if (known != layers_.end()) {
    Pin pin(known->second.held);
    known->second.keys[hex] = key.libraries;
    absl::Status written =
        WriteRecord(known->second, absl::StrCat(path_, "/", id));
    if (!written.ok()) return written;
    AssignKey(hex, id);
    RecordUse(known->second);
    return pin;
  }
  if (absl::Status room = MakeRoom(layer.info.bytes); !room.ok()) return room;
  if (::rename(own.c_str(), absl::StrCat(path_, "/", id).c_str()) != 0) {
    return DiskError("put a layer in place");
  }
  Pin pin(layer.held);
  order_.Put(id, layer.info.bytes);
  layers_.emplace(id, std::move(layer));
  AssignKey(hex, id);
  return pin;
}

absl::Status LayerStore::MakeRoom(uint64_t bytes) {
  for (size_t left = order_.size();
       left > 0 && order_.bytes() + bytes > options_.max_bytes; --left) {
    const std::string id = order_.oldest();
    if (InUse(layers_.at(id))) {
      order_.Use(id);
    } else {
      Forget(id);
    }
  }
  if (order_.bytes() + bytes <= options_.max_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the libraries take ", bytes, " bytes and those in use ",
                   order_.bytes(), ", more than all may take, ",
                   options_.max_bytes, " (libraries.max_bytes)"));
}

void LayerStore::RecordUse(Layer& layer) {
  layer.info.last_used = absl::Now();
  order_.Use(layer.info.id);
  // The time of the last use needn't be exact to the second after a restart.
  if (layer.info.last_used - layer.noted_use < kNoteUseEvery) return;
  layer.noted_use = layer.info.last_used;
  const std::string record =
      absl::StrCat(path_, "/", layer.info.id, "/", kLayerRecord);
  ::utimensat(AT_FDCWD, record.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void LayerStore::AssignKey(const std::string& key, const std::string& id) {
  const auto before = ids_.find(key);
  if (before != ids_.end() && before->second != id) {
    const auto other = layers_.find(before->second);
    other->second.keys.erase(key);
    // Nothing leads to the layer any more. If it is in use, it stays and is
    // evicted when it is old.
    if (other->second.keys.empty() && !InUse(other->second)) {
      Forget(std::string(before->second));
    }
  }
  ids_[key] = id;
}

void LayerStore::Forget(const std::string& id) {
  const auto layer = layers_.find(id);
  if (layer == layers_.end()) return;
  watch_.End(id);
  const std::string from = absl::StrCat(path_, "/", id);
  const std::string to = absl::StrCat(path_, "/", kGone, ++next_name_);
  const bool renamed = ::rename(from.c_str(), to.c_str()) == 0;
  gone_.push_back({layer->second.held, renamed ? to : from});
  for (const auto& [key, libraries] : layer->second.keys) {
    const auto place = ids_.find(key);
    if (place != ids_.end() && place->second == id) ids_.erase(place);
  }
  order_.Erase(id);
  layers_.erase(layer);
}

void LayerStore::Drop(Pin pin, const absl::Status& why) {
  LogDamaged(pin.id(), why);
  {
    absl::MutexLock lock(&mutex_);
    const auto layer = layers_.find(pin.id());
    // Don't forget the layer that was built in its place meanwhile.
    if (layer != layers_.end() && layer->second.held == pin.held_) {
      Forget(pin.id());
    }
    pin.held_.reset();
  }
  RemoveGone();
}

void LayerStore::RemoveGone() {
  std::vector<std::string> paths;
  {
    absl::MutexLock lock(&mutex_);
    std::erase_if(gone_, [&](const Gone& gone) {
      // Jails may still have the layer.
      if (gone.held.use_count() > 1) return false;
      paths.push_back(gone.path);
      return true;
    });
  }
  for (const std::string& path : paths) RemoveTree(path);
}

std::vector<LayerInfo> LayerStore::List() const {
  absl::MutexLock lock(&mutex_);
  std::vector<LayerInfo> all;
  for (const auto& [id, layer] : layers_) {
    LayerInfo info = layer.info;
    for (const auto& [key, libraries] : layer.keys) {
      info.libraries.push_back(libraries);
    }
    // Several tenants may have the same set for themselves.
    std::sort(info.libraries.begin(), info.libraries.end());
    info.libraries.erase(
        std::unique(info.libraries.begin(), info.libraries.end()),
        info.libraries.end());
    info.in_use = InUse(layer);
    all.push_back(std::move(info));
  }
  return all;
}

absl::Status LayerStore::Remove(const std::string& id) {
  {
    absl::MutexLock lock(&mutex_);
    const auto layer = layers_.find(id);
    if (layer == layers_.end()) {
      return absl::NotFoundError(
          absl::StrCat("there is no layer ", Quoted(id, 80)));
    }
    if (InUse(layer->second)) {
      return absl::FailedPreconditionError(
          absl::StrCat("layer ", Quoted(id, 80),
                       " is in use; end the runs and sessions that have it"));
    }
    Forget(id);
  }
  RemoveGone();
  return absl::OkStatus();
}

void LayerStore::EvictOld() {
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time since = absl::Now() - options_.max_age;
    std::vector<std::string> old;
    for (const auto& [id, layer] : layers_) {
      if (layer.info.last_used < since && !InUse(layer)) old.push_back(id);
    }
    for (const std::string& id : old) Forget(id);
    // If too much is in use now, more is removed once it no longer is.
    MakeRoom(0).IgnoreError();
  }
  RemoveGone();
}

}  // namespace sandglass::server
