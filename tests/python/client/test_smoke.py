def test_a_program(client):
    assert client.run_code("print(1)").stdout == "1\n"
