#ifndef SANDGLASS_SERVER_ADMISSION_ADMISSION_CONFIG_H_
#define SANDGLASS_SERVER_ADMISSION_ADMISSION_CONFIG_H_

#include "nlohmann/json.hpp"
#include "policy/text/json_reader.h"
#include "server/admission/admission.h"

namespace sandglass::server {

// The values that hold where the configuration sets none. They depend on the
// number of processors and on the memory that is available now.
AdmissionOptions DefaultAdmission();

// Reads the key "admission" into `options`. Values that it doesn't set are
// derived from those that it does set where they depend on them, and otherwise
// stay as they are. Mistakes become errors of `root`.
void ReadAdmission(policy::JsonObject& root, AdmissionOptions& options);
nlohmann::ordered_json AdmissionToJson(const AdmissionOptions& options);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ADMISSION_ADMISSION_CONFIG_H_
