#include "gateway/connect/openapi.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "gateway/connect/json_codec.h"
#include "gateway/connect/methods.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "sandglass/v1/run.pb.h"

namespace sandglass::gateway {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const json& Document() {
  static const json* const document = new json(json::parse(MakeOpenApi()));
  return *document;
}

const json& Schema(const std::string& name) {
  return Document().at("components").at("schemas").at(name);
}

// Each value of this name, at any depth.
void Collect(const json& value, const std::string& name,
             std::set<std::string>& found) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      if (key == name && member.is_string()) found.insert(member);
      Collect(member, name, found);
    }
  } else if (value.is_array()) {
    for (const json& element : value) Collect(element, name, found);
  }
}

TEST(OpenApi, EachMethodIsThereWithItsMessages) {
  EXPECT_EQ(Document()["openapi"], "3.1.0");
  const json& paths = Document()["paths"];
  EXPECT_EQ(paths.size(), ApiMethods().size());
  std::set<std::string> ids;
  for (const Method& method : ApiMethods()) {
    ASSERT_TRUE(paths.contains(method.path)) << method.path;
    const json& path = paths[method.path];
    EXPECT_EQ(path.contains("get"), method.no_side_effects) << method.path;
    const json& post = path["post"];
    EXPECT_FALSE(post["description"].get<std::string>().empty()) << method.path;
    ids.insert(post["operationId"].get<std::string>());
    const std::string place =
        "#/components/schemas/" + method.request->full_name();
    const json& content = post["requestBody"]["content"];
    if (method.unary()) {
      EXPECT_EQ(content["application/json"]["schema"]["$ref"], place);
    } else {
      EXPECT_EQ(content["application/connect+json"]["schema"]["x-message"],
                place);
      EXPECT_FALSE(content.contains("application/json"));
    }
    EXPECT_TRUE(post["responses"].contains("200"));
    EXPECT_EQ(post["responses"]["default"]["$ref"],
              "#/components/responses/Error");
  }
  EXPECT_EQ(ids.size(), ApiMethods().size());
}

TEST(OpenApi, EachReferenceResolves) {
  std::set<std::string> places;
  Collect(Document(), "$ref", places);
  Collect(Document(), "x-message", places);
  EXPECT_GE(places.size(), 100u);
  for (const std::string& place : places) {
    ASSERT_TRUE(absl::StartsWith(place, "#/")) << place;
    EXPECT_TRUE(Document().contains(json::json_pointer(place.substr(1))))
        << place;
  }
}

TEST(OpenApi, EachSchemaIsReferredTo) {
  std::set<std::string> places;
  Collect(Document(), "$ref", places);
  Collect(Document(), "x-message", places);
  for (const auto& [name, schema] :
       Document()["components"]["schemas"].items()) {
    EXPECT_EQ(places.count("#/components/schemas/" + name), 1u) << name;
  }
}

TEST(OpenApi, ValuesAreAsTheCodecReadsAndWritesThem) {
  const json& output = Schema("sandglass.v1.Output")["properties"];
  EXPECT_EQ(output["data"]["contentEncoding"], "base64");
  EXPECT_EQ(output["totalBytes"]["type"], "string");
  EXPECT_EQ(output["totalBytes"]["format"], "uint64");
  EXPECT_EQ(output["truncated"]["type"], "boolean");
  const json& limits = Schema("sandglass.v1.Limits")["properties"];
  EXPECT_EQ(limits["wallTime"]["type"], "string");
  EXPECT_EQ(limits["wallTime"]["examples"][0], "1.5s");
  EXPECT_EQ(limits["maxProcesses"]["maximum"], 4294967295);
  const json& request = Schema("sandglass.v1.RunCodeRequest")["properties"];
  EXPECT_EQ(request["env"]["additionalProperties"]["type"], "string");
  EXPECT_EQ(request["files"]["items"]["$ref"],
            "#/components/schemas/sandglass.v1.InputFile");
  EXPECT_EQ(
      Schema("sandglass.v1.RunSummary")["properties"]["createTime"]["format"],
      "date-time");
  const json& priority = Schema("sandglass.v1.RunPriority");
  EXPECT_EQ(priority["enum"],
            json({"RUN_PRIORITY_UNSPECIFIED", "RUN_PRIORITY_BATCH"}));
}

TEST(OpenApi, DescriptionsAreTheCommentsOfTheProtoFiles) {
  EXPECT_EQ(Document()["paths"]["/sandglass.v1.SandboxService/RunCode"]["post"]
                      ["description"],
            "Runs one program to its end and answers with all that is known of "
            "it.");
  EXPECT_THAT(
      Schema("sandglass.v1.RunCodeRequest")["properties"]["code"]["description"]
          .get<std::string>(),
      HasSubstr("at most 1 MiB"));
  EXPECT_THAT(
      Schema("sandglass.v1.FileError")["description"].get<std::string>(),
      HasSubstr("- FILE_ERROR_NOT_REGULAR: A symbolic link"));
  const json& event =
      Schema("sandglass.v1.StreamRunCodeResponse")["properties"]["chunk"];
  EXPECT_THAT(event["description"].get<std::string>(),
              HasSubstr("At most one of these is there (event): started, "));
}

TEST(OpenApi, OnlyRequestsAreClosed) {
  EXPECT_EQ(Schema("sandglass.v1.RunCodeRequest")["additionalProperties"],
            false);
  EXPECT_FALSE(
      Schema("sandglass.v1.RunCodeResponse").contains("additionalProperties"));
  EXPECT_FALSE(Schema("sandglass.v1.Limits").contains("additionalProperties"));
}

TEST(OpenApi, TheExamplesAreReadAsWhatTheyAreExamplesOf) {
  const json& post =
      Document()["paths"]["/sandglass.v1.SandboxService/RunCode"]["post"];
  const json& request =
      post["requestBody"]["content"]["application/json"]["example"];
  EXPECT_EQ(request["limits"]["wallTime"], "5s");
  EXPECT_TRUE(ReadJson(request.dump(), *v1::RunCodeRequest::descriptor()).ok());
  const json& answer =
      post["responses"]["200"]["content"]["application/json"]["example"];
  EXPECT_EQ(answer["stdout"]["data"], "NDIK");
  EXPECT_TRUE(ReadJson(answer.dump(), *v1::RunCodeResponse::descriptor()).ok());
}

TEST(OpenApi, ErrorsAndTokensAreDescribed) {
  const json& error = Schema("connect.Error");
  EXPECT_EQ(error["properties"]["code"]["enum"].size(), 16u);
  EXPECT_EQ(error["required"], json({"code"}));
  EXPECT_EQ(Document()["components"]["securitySchemes"]["bearer"]["scheme"],
            "bearer");
  EXPECT_TRUE(Document()["security"][0].contains("bearer"));
}

TEST(OpenApi, ItIsAlwaysTheSame) { EXPECT_EQ(MakeOpenApi(), MakeOpenApi()); }

}  // namespace
}  // namespace sandglass::gateway
