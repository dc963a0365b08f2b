#ifndef SANDGLASS_GATEWAY_PLACE_PLACEMENT_H_
#define SANDGLASS_GATEWAY_PLACE_PLACEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/statusor.h"
#include "gateway/place/node_set.h"
#include "gateway/place/node_table.h"
#include "gateway/place/sent_since.h"
#include "server/base/clock.h"

namespace sandglass::gateway {

// What a request needs of the node that it goes to.
struct Wish {
  std::string tenant;
  // What the node has to have; empty: nothing in particular.
  std::string language;
  std::string profile;
  std::string image;
  // Of the set of libraries that it names; empty: none. Where no node has it,
  // any will do, and installs it.
  std::string library;
  // That a run reserves, or a session may take; at most kMaxBytes.
  uint64_t memory_bytes = 0;
  bool session = false;  // else a run
  // By which a caller sends the same request twice. Empty: it can't be.
  std::string request_id;
  // How many nodes were tried before and couldn't be reached, or refused. The
  // times after which errors say to try again grow with it.
  int tries = 0;
};

// Where a request goes.
struct Placed {
  std::string node;
  std::string instance;
  Taken taken;
  // No slot is free there, as far as the gateway knows: the run has to wait in
  // the node's queue.
  bool waits = false;
  bool has_library = false;
  // It has a request id, and isn't at the first node of that id's order, since
  // that one has no room. It may be there already, if it was sent before.
  bool displaced = false;
};

// Says where a request goes, and counts it there at once, so that those that
// come until the node's next report go elsewhere: hand the end of it, or that
// it never arrived, to NodeTable::Ended.
//
// Fit are the nodes that are there (see NodeTable::there), aren't named in
// `excluded`, and have the language, the profile and the image. A run may go to
// a fit node that has a free slot and the memory that it reserves; to one
// without only if there is none, and then to one whose queue takes it and whose
// whole memory is enough. A session may go to a fit node that has room for one
// more and for its memory; sessions don't wait.
//
// Without a request id: where the request names libraries, nodes that have them
// and a free slot come before all others. Of the nodes that come first, two are
// drawn at random, and the one with more free slots is taken; of sessions the
// one with more memory left for sessions; if they are equal, the one with more
// warm jails of the language. Where all slots are taken, it is the one with
// fewer runs for each of its slots.
//
// With a request id: the first node of the id's rendezvous order (see
// rendezvous.h) among the fit ones that take it, be it into its queue; slots,
// libraries and warm jails make no difference. So all replicas that know the
// same nodes send a repeated request to the node that knows it, until that node
// is full or gone. The price is balance: such runs wait behind others while
// slots are free elsewhere. docs/scaling.md has how long.
//
// `random` needs no secret. A decision among a thousand nodes is to take at
// most 20 us (p99); docs/scaling.md has what it takes.
//
// Errors, which are the API's:
//   INVALID_ARGUMENT: the wish asks for more memory than kMaxBytes.
//   FAILED_PRECONDITION: no node has the language (with those that there are),
//     the profile, the image, or all three of them, or so much memory.
//   UNAVAILABLE, with RetryInfo: all fit nodes are silent, drain, or are
//     excluded; or there is no node at all.
//   RESOURCE_EXHAUSTED, with RetryInfo: all fit nodes are full.
absl::StatusOr<Placed> Place(const Wish& wish, NodeTable& nodes,
                             server::MonotonicTime now, absl::BitGenRef random,
                             const std::vector<std::string>& excluded = {},
                             std::string_view secret = {});

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PLACE_PLACEMENT_H_
