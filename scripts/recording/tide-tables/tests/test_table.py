import unittest

from tidetables.table import bar, render


class RenderTest(unittest.TestCase):
    def test_columns_are_as_wide_as_their_widest_cell(self):
        text = render(("name", "m"), [("Lisboa", "2.20"), ("Saint-Malo", "6.73")], right=(1,))
        self.assertEqual(
            text.splitlines(),
            [
                "name           m",
                "----------  ----",
                "Lisboa      2.20",
                "Saint-Malo  6.73",
            ],
        )

    def test_a_full_width_name_takes_two_columns_a_sign(self):
        text = render(("name", "m"), [("東京", "1.20"), ("Lisboa", "2.20")], right=(1,))
        self.assertEqual(
            text.splitlines(),
            [
                "name       m",
                "------  ----",
                "東京    1.20",
                "Lisboa  2.20",
            ],
        )


class BarTest(unittest.TestCase):
    def test_the_bar_grows_with_the_value(self):
        self.assertEqual([bar(value, 0, 2, width=4) for value in (0, 1, 2)], ["", "##", "####"])

    def test_a_flat_day_has_no_bar(self):
        self.assertEqual(bar(1.0, 1.0, 1.0), "")
