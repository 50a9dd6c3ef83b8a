"""Requests generated from the OpenAPI document itself, valid and broken ones, against the service with a real store."""

from __future__ import annotations

from typing import Any

import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode


def test_no_generated_request_is_a_defect(life: Any) -> None:
    """X1, G1: every operation of the document, with data that fits it and data that does not: never a 500, and as many
    rows as accepted files as records of writes afterwards."""
    client = life.client()
    schema = schemathesis.openapi.from_asgi("/openapi.json", client.app, headers={"Host": "127.0.0.1:8321"})
    cases = []
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        for result in schema.get_all_operations():
            cases.append(result.ok().as_strategy(generation_mode=mode))
    assert len(cases) > 20

    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    @given(st.one_of(cases))
    def run(case: Any) -> None:
        response = case.call(headers={"Host": "127.0.0.1:8321"})
        seen.add(response.status_code // 100)
        case.validate_response(response, checks=[not_a_server_error])

    seen: set[int] = set()
    run()
    assert {2, 4} <= seen, "only refusals prove little"
    rows, files, records = life.sums()
    assert rows == files == records
