"""The gateway's OpenAPI document, to those who know that format."""

import json
import os
import pathlib
import subprocess

import jsonschema
import openapi_spec_validator
import pytest

BUILD = pathlib.Path(os.environ["SANDGLASS_TEST_BUILD"])
RUN = "/sandglass.v1.SandboxService/RunCode"


@pytest.fixture(scope="module")
def document() -> dict:
    program = BUILD / "bin" / "gateway_openapi"
    done = subprocess.run([program], check=True, capture_output=True)
    return json.loads(done.stdout)


def validator(document: dict, name: str) -> jsonschema.Draft202012Validator:
    """For one of its schemas, with the formats and encodings that it names."""
    return jsonschema.Draft202012Validator(
        {
            "$ref": f"#/components/schemas/{name}",
            "components": document["components"],
        },
        format_checker=jsonschema.FormatChecker(),
    )


def test_the_document_is_valid(document: dict) -> None:
    openapi_spec_validator.OpenAPIV31SpecValidator(document).validate()


def test_a_broken_document_is_not(document: dict) -> None:
    broken = json.loads(json.dumps(document))
    del broken["paths"][RUN]["post"]["responses"]["200"]["description"]
    with pytest.raises(jsonschema.ValidationError):
        openapi_spec_validator.OpenAPIV31SpecValidator(broken).validate()


def test_each_schema_is_one(document: dict) -> None:
    for name, schema in document["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] in ("object", "string"), name


def test_the_examples_are_valid(document: dict) -> None:
    post = document["paths"][RUN]["post"]
    request = post["requestBody"]["content"]["application/json"]
    validator(document, "sandglass.v1.RunCodeRequest").validate(request["example"])
    answer = post["responses"]["200"]["content"]["application/json"]
    validator(document, "sandglass.v1.RunCodeResponse").validate(answer["example"])
    error = document["components"]["responses"]["Error"]["content"]
    validator(document, "connect.Error").validate(error["application/json"]["example"])


@pytest.mark.parametrize(
    "request_",
    [
        {"codes": "x"},
        {"code": 1},
        {"limits": {"wallTime": "5"}},
        {"limits": {"memoryBytes": -1}},
        {"limits": {"maxProcesses": 2**32}},
        {"priority": "BATCH"},
        {"files": {}},
        {"env": {"A": 1}},
    ],
)
def test_requests_that_the_gateway_refuses_are_invalid(
    document: dict, request_: dict
) -> None:
    assert not validator(document, "sandglass.v1.RunCodeRequest").is_valid(request_)
