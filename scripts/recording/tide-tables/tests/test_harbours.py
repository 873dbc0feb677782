import unittest
from datetime import timedelta

from tidetables.harbours import UnknownHarbour, find, load


class HarboursTest(unittest.TestCase):
    def test_names_are_kept_as_they_are_written(self):
        names = {harbour.name for harbour in load().values()}
        for name in ("Ærøskøbing", "São Tomé", "Świnoujście", "東京", "인천", "Мурманск"):
            self.assertIn(name, names)

    def test_the_offset_becomes_a_time_zone(self):
        self.assertEqual(find("tokyo").zone.utcoffset(None), timedelta(hours=9))

    def test_an_unknown_id_names_the_known_ones(self):
        with self.assertRaisesRegex(UnknownHarbour, "no harbour 'atlantis'; known: aeroskobing, incheon"):
            find("atlantis")
