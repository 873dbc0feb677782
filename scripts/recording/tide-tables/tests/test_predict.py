import unittest
from datetime import UTC, date, datetime, timedelta, timezone

from tidetables.harbours import Constituent, Harbour
from tidetables.predict import EPOCH, day, level


def harbour(zone=UTC, **amplitudes):
    terms = tuple(Constituent(name, amplitude, 0.0) for name, amplitude in amplitudes.items())
    return Harbour("test", "Test", "XX", zone, 2.0, terms)


class LevelTest(unittest.TestCase):
    def test_without_constituents_the_level_is_the_mean(self):
        self.assertEqual(level(harbour(), datetime(2026, 11, 29, tzinfo=UTC)), 2.0)

    def test_at_the_epoch_all_terms_add_up(self):
        self.assertAlmostEqual(level(harbour(m2=1.0, s2=0.5), EPOCH), 3.5)

    def test_the_solar_term_repeats_after_twelve_hours(self):
        place = harbour(s2=1.0)
        self.assertAlmostEqual(level(place, EPOCH), level(place, EPOCH + timedelta(hours=12)))


class DayTest(unittest.TestCase):
    def test_a_day_has_both_midnights(self):
        moments = [moment for moment, _ in day(harbour(), date(2026, 11, 29))]
        self.assertEqual(len(moments), 25)
        self.assertEqual(moments[-1] - moments[0], timedelta(days=1))

    def test_the_day_is_local(self):
        first, _ = next(day(harbour(zone=timezone(timedelta(hours=9))), date(2026, 11, 29)))
        self.assertEqual(first.astimezone(UTC), datetime(2026, 11, 28, 15, tzinfo=UTC))
