"""Runs that a person has to approve."""

import pytest
import sandglass
from sandglass import Client, Outcome


@pytest.fixture(scope="module")
def asking():
    from conftest import Daemon

    profile = {
        "description": "asks",
        "approval": {"self_approval": True},
        "rules": [
            {
                "id": "no-subprocess",
                "severity": "require_approval",
                "languages": ["python"],
                "modules": ["subprocess"],
            },
            {
                "id": "no-socket",
                "severity": "deny",
                "languages": ["python"],
                "modules": ["socket"],
            },
        ],
    }
    daemon = Daemon(profiles={"asks": profile})
    with Client(daemon.address) as client:
        yield client
    daemon.remove()


CODE = "import subprocess\nprint('ran')"


def test_it_does_not_run_before(asking):
    result = asking.run_code(CODE, profile="asks")
    assert result.outcome is Outcome.NEEDS_APPROVAL
    assert result.stdout == "" and result.exit_code is None
    assert result.approval_id.startswith("appr-")
    (finding,) = result.findings
    assert (finding.rule_id, finding.line) == ("no-subprocess", 1)
    assert result.approval_id in str(result) and "no-subprocess" in str(result)
    assert asking.approval(result.approval_id).code == CODE
    assert result.approval_id in [a.approval_id for a in asking.approvals()]
    asking.approve(result.approval_id, "fine")
    ran = asking.run_code(CODE, profile="asks", approval_id=result.approval_id)
    assert ran.stdout == "ran\n"
    assert ran.raw.approved.approval_id == result.approval_id
    with pytest.raises(sandglass.Conflict) as used:
        asking.run_code(CODE, profile="asks", approval_id=result.approval_id)
    assert used.value.reason == "APPROVAL_USED"


def test_one_that_is_denied(asking):
    result = asking.run_code(CODE, profile="asks")
    asking.deny(result.approval_id, "no")
    with pytest.raises(sandglass.PermissionDenied):
        asking.run_code(CODE, profile="asks", approval_id=result.approval_id)


def test_what_a_rule_forbids(asking):
    result = asking.run_code("import socket", profile="asks")
    assert result.outcome is Outcome.DENIED
    assert result.approval_id is None
    assert "no-socket" in str(result)


def test_approvals_that_are_not_there(asking):
    with pytest.raises(sandglass.NotFound):
        asking.approve("appr-0000000000000000")
