"""`tailor keygen`, `sign` and `verify`, and keys elsewhere on the command line."""
import base64
import json
import os
import stat
import unittest

from tool_case import FILE, NO, STATUS, USAGE, ToolCase

SECRET_DER, PUBLIC_DER = bytes.fromhex("302e020100300506032b657004220420"), bytes.fromhex("302a300506032b6570032100")


def der(path):
    return base64.b64decode("".join(path.read_text().splitlines()[1:-1]))


class KeysTest(ToolCase):
    def setUp(self):
        super().setUp()
        self.compile()
        self.key = self.succeed_json("keygen", "-o", "a.key")["public_key"]

    def test_keys_are_pem_and_secret(self):
        self.assertEqual(stat.S_IMODE((self.path / "a.key").stat().st_mode), 0o600)
        secret, public = der(self.path / "a.key"), der(self.path / "a.pub")
        self.assertEqual((secret[:16], len(secret)), (SECRET_DER, 48))
        self.assertEqual(public, PUBLIC_DER + bytes.fromhex(self.key))
        self.refuse(USAGE, "a.key exists; --force replaces it", "keygen", "-o", "a.key")
        before = (self.path / "a.key").read_bytes()
        os.chmod(self.path / "a.key", 0o644)
        self.assertRegex(self.succeed("keygen", "-o", "a.key", "--force"),
                         r"^a.key \(secret, mode 0600\)  a.pub \(public: [0-9a-f]{64}\)\n$")
        self.assertNotEqual((self.path / "a.key").read_bytes(), before)
        self.assertEqual(stat.S_IMODE((self.path / "a.key").stat().st_mode), 0o600)

    def test_a_signature_is_verified(self):
        self.assertEqual(self.succeed("verify", "a.tlr").split("  ")[1].split(", ")[2], "not signed\n")
        out = self.succeed_json("sign", "a.tlr", "--key", "a.key", "-o", "s.tlr")
        self.assertEqual((out["artifact"], out["public_key"]), ("s.tlr", self.key))
        for key in ("a.pub", self.key):
            verified = self.succeed_json("verify", "s.tlr", "--public-key", key)
            self.assertEqual(verified["identity"], out["identity"])
            self.assertEqual((verified["valid"], verified["signed"], verified["signature_verified"]), (True, True, True))
            self.succeed("run", "s.tlr", "--public-key", key)
        self.assertFalse(self.succeed_json("verify", "s.tlr")["signature_verified"])
        self.assertFalse(self.succeed_json("verify", "a.tlr")["signed"])
        # Signing in place, and at compilation, gives the same bytes.
        self.succeed("sign", "a.tlr", "--key", "a.key")
        self.assertEqual((self.path / "a.tlr").read_bytes(), (self.path / "s.tlr").read_bytes())
        self.compile("--key", "a.key")
        self.assertEqual((self.path / "a.tlr").read_bytes(), (self.path / "s.tlr").read_bytes())

    def test_what_is_not_signed_or_damaged_is_refused(self):
        out = self.refuse(NO, "FAILED_PRECONDITION: a.tlr: the artifact is not signed", "verify", "a.tlr", "--public-key",
                          "a.pub", "--json")
        self.assertEqual(json.loads(out)["valid"], False)
        self.refuse(STATUS, "not signed", "run", "a.tlr", "--public-key", "a.pub")
        self.succeed("keygen", "-o", "b.key")
        self.succeed("sign", "a.tlr", "--key", "b.key", "-o", "s.tlr")
        self.refuse(NO, "FAILED_PRECONDITION", "verify", "s.tlr", "--public-key", "a.pub")
        whole = (self.path / "s.tlr").read_bytes()
        for at in (0, 100, len(whole) - 1):
            (self.path / "s.tlr").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
            self.refuse(NO, "s.tlr: ", "verify", "s.tlr", "--public-key", "b.pub")
            self.refuse(FILE, "s.tlr: ", "sign", "s.tlr", "--key", "b.key")

    def test_mistakes_are_named(self):
        (self.path / "empty.key").write_text("")
        for exit_code, words, arguments in (
                (FILE, "NOT_FOUND", ("verify", "none.tlr")),
                (FILE, "cannot read none.pub", ("verify", "a.tlr", "--public-key", "none.pub")),
                (FILE, 'a.key holds no Ed25519 "PUBLIC KEY" in PEM', ("verify", "a.tlr", "--public-key", "a.key")),
                (FILE, 'a.pub holds no Ed25519 "PRIVATE KEY" in PEM', ("sign", "a.tlr", "--key", "a.pub")),
                (FILE, "empty.key holds no Ed25519", ("sign", "a.tlr", "--key", "empty.key")),
                (USAGE, "--key is required", ("sign", "a.tlr")),
                (FILE, "cannot write none/a.key", ("keygen", "-o", "none/a.key"))):
            with self.subTest(arguments):
                self.refuse(exit_code, words, *arguments)
        os.chmod(self.path / "a.key", 0o644)
        code, _, err = self.run_tool("sign", "a.tlr", "--key", "a.key")
        self.assertEqual(code, 0)
        self.assertEqual(err, "tailor: warning: a.key is readable by others; make it yours alone: chmod 600\n")


if __name__ == "__main__":
    unittest.main()
