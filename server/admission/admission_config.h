#ifndef SANDGLASS_SERVER_ADMISSION_ADMISSION_CONFIG_H_
#define SANDGLASS_SERVER_ADMISSION_ADMISSION_CONFIG_H_

#include "nlohmann/json.hpp"
#include "policy/text/json_reader.h"
#include "server/admission/admission.h"

namespace sandglass::server {

// What holds where the configuration says nothing: by the number of processors,
// and the memory that is available now.
AdmissionOptions DefaultAdmission();

// The key "admission". What it doesn't say follows from what it does, else it
// stays as it is. What is wrong becomes an error of `root`.
void ReadAdmission(policy::JsonObject& root, AdmissionOptions& options);
nlohmann::ordered_json AdmissionToJson(const AdmissionOptions& options);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ADMISSION_ADMISSION_CONFIG_H_
