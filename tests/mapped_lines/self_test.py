"""What counts as a line of code, by hand."""
import unittest

from mapped_lines import count


class Count(unittest.TestCase):
    def test_empty_lines_and_comments_do_not_count(self):
        self.assertEqual(count("// why\n\nint a;  // its unit\n  \n/* two\n   lines */\nint b;\n"), (2, 7))

    def test_code_beside_a_comment_counts(self):
        self.assertEqual(count("int a; /* begins\nends */ int b;\n"), (2, 2))

    def test_what_looks_like_a_comment_in_a_literal_is_code(self):
        self.assertEqual(count('auto url = "http://a";\nchar c = \'"\'; // "\nauto d = "/*";\nint e;\n'), (4, 4))


if __name__ == "__main__":
    unittest.main()
