# Made by tools/structs.py from the dtypes of the records and the sizes beside them; do not edit.

cdef enum:
    RING = 4352
    FLAGS = 34
    LOGS = 32
    SLOW = 3
    LONGEST = 2048
    SHORTEST = 4
    MEAN_OF = 32
    MEANS = 512
    LONGEST_REST = 16
    QUANTITIES = 7
    RANKED = 5
    ERROR = 0
    DIFFERENCE = 1
    VALUE = 2
    LEVEL = 3
    NOISE = 4
    SUM = 5
    PLACE = 6
    BLOCKS = 16
    CENTROIDS = 48
    OCTAVES = 13
    TRIES = 16
    RECENT = 128
    FINE = 0
    AGAIN = 1
    ANOTHER = 2
    NONE = 3
    TRUE = 4
    ON_GRID = 0
    RANDOM = 1
    JITTER = 2
    KINDS = 3
    AS_NOISE = 0
    LINE = 1
    CUBIC = 2
    KEPT = 8192
    NEWEST = 6
    WIDEST = 26
    FAR_FEATURES = 31
    LAGS = 32
    ORDER = 8
    MEMORY = 112
    FEATURES = 115
    SHORTS = 45
    LONGS = 7
    FIXED = 115
    MEMBERS = 119
    WIDTH = 16
    FACTORS = 680
    LEVELS = 11
    SOLVED = 4
    WINDOWS = 10
    SHORT_ROW = 48
    LONG_ROW = 16
    MEMBERS_ROW = 120
    OUTER = 5
    NINETY = 3
    PARABOLA = 2
    SEASON_LAGS = 6
    SEASON_FEATURES = 24
    SEASON_MEMBERS = 6
    SEASON_SOLVED = 3
    SEASON_ROW = 24
    DEGREE_COUNT = 7
    CARRIED_COUNT = 3
    NODES = 14
    FAR_SETS = 2
    FAR_READOUTS = 4
    FAR_MEMBERS = 6
    FAR_SLOW = 2

cdef extern from *:
    """
    static const double PROPHECY_LARGEST = 1e+75;
    static const double PROPHECY_MOVED = 1e+80;
    static const double PROPHECY_SQUARED = 1e+160;
    static const double PROPHECY_RARE[11] = {0.5, 0.30000000000000004, 0.19999999999999996, 0.09999999999999998, 0.050000000000000044, 0.020000000000000018, 0.010000000000000009, 0.0050000000000000044, 0.0020000000000000018, 0.0010000000000000009, 0.0004999999999999449};
    static const long long PROPHECY_DEGREES[7] = {1, 3, 5, 7, 9, 11, 13};
    static const double PROPHECY_CARRIED[3] = {0.0, 0.5, 1.0};
    static const long long PROPHECY_SEASON_WIDTHS[3] = {24, 15, 8};
    static const long long PROPHECY_SEASON_STRIDES[3] = {24, 16, 8};
    static const long long PROPHECY_SEASON_STARTS[4] = {0, 576, 816, 880};
    static const long long PROPHECY_SEASON_INDEX[3][24] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}, {0, 1, 2, 6, 7, 8, 12, 13, 14, 15, 16, 17, 21, 22, 23, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 6, 7, 8, 12, 13, 14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
    """
    const double LARGEST "PROPHECY_LARGEST"
    const double MOVED "PROPHECY_MOVED"
    const double SQUARED "PROPHECY_SQUARED"
    const double RARE "PROPHECY_RARE"[11]
    const long long DEGREES "PROPHECY_DEGREES"[7]
    const double CARRIED "PROPHECY_CARRIED"[3]
    const long long SEASON_WIDTHS "PROPHECY_SEASON_WIDTHS"[3]
    const long long SEASON_STRIDES "PROPHECY_SEASON_STRIDES"[3]
    const long long SEASON_STARTS "PROPHECY_SEASON_STARTS"[4]
    const long long SEASON_INDEX "PROPHECY_SEASON_INDEX"[3][24]

cdef struct Record:
    long long hold
    long long count
    long long gap
    long long known
    double spacing
    long long learned
    double last
    double change
    double mean
    double lag[32]
    double feature[115]
    double alternation[2]
    double prediction[119]
    double weight[119]
    double scale[119]
    double peak[119]
    double last_peak[119]
    double error_scale
    double error_peak
    double last_error_peak
    double quantile[11]
    double tail
    double bias[115]
    double squared_bias[115]
    double factor[680]
    double growth[4]
    double readout[4][16]
    double power[4]
    long long begun[4]
    double drift[10][8]
    double alternation_drift[2]
    long long same
    long long longest
    long long rests
    double tick
    long long tick_hits
    long long tick_misses
    long long doubts
    double doubted[2]
    double withheld[2]
    long long stamps
    double stamp_error[3]
    long long gap_seen[13]
    double gap_error[13]
    double shrink_ahead[2]
    double shrink_weight[2]
    double shrink_scale[2]
    double shrink_peak[2]
    double shrink_last_peak[2]
    double shrink_sums[2]
    double season_periods[2]
    double season_strength[2]
    long long season_check
    long long season_on
    long long season_rest
    long long season_rests
    long long season_seen
    long long season_mixed
    long long season_since
    double season_moves
    double season_alone
    double season_power
    double season_features[24]
    double season_weights[3][24]
    double season_factor[880]
    double season_growth[3]
    double season_size[3]
    double season_errors[3]
    double season_ahead[6]
    double season_mix[6]
    double season_scales[6]
    double season_peak[6]
    double season_last_peak[6]
    double season_sums[2]
    long long season_filled[128]
    long long season_blocks
    double season_means[512]
    double alarm
    long long alarm_seen
    double alarm_error
    long long alarm_exact
    double alarm_log[32]
    double alarm_sum
    double slow_mean[3]
    double slow_centre[3]
    double slow_square[3]
    long long slow_since[3]
    double slow_apart
    double alarm_quantity[7]
    double alarm_tail[5]
    long long alarm_size[7]
    double alarm_middle[7][48]
    double alarm_weight[7][48]
    long long alarm_records[7][2]
    double alarm_before
    double alarm_change
    double alarm_square
    double alarm_drift
    double alarm_origin
    double alarm_block[16]
    long long alarm_place
    long long alarm_left

cdef struct Calibration:
    long long count
    long long gap
    long long learned
    double last
    double error_scale
    double error_peak
    double last_error_peak
    double quantile[11]
    double tail

cdef struct Clock:
    long long count
    long long given
    long long irregular
    long long late
    long long coarse
    long long odd
    long long jumps
    long long walked
    double dt
    double last
    double grid
    double off
    double jump
    double found
    double start
    double before
    double unit
    double fitted
    double mean_offset
    double mean_square
    double recent[128]

cdef struct Samples:
    double value[128]
    double newest
    double known
    long long seen
    double fit[7]
    double carry[3]
    long long doubts
    double doubted[2]
    double alarm

cdef struct SeasonsSettings:
    long long first_check
    double check_growth
    long long check_every
    long long first_long
    double cut
    double least
    double least_of_values
    double white_deviations
    double bartlett_deviations
    double alone
    double certain
    double lasting
    long long multiples
    double nearly
    double inside
    double partly
    double decayed
    double by_values
    double unsure
    double full
    double enough
    double remains
    long long most_days
    long long least_pairs
    long long most_parts
    double same
    long long stretches

cdef struct LinesSettings:
    double faint
    double noisy
    double tolerance
    double loosest
    double clean
    double base
    long long agreeing
    long long many
    long long folded
    long long strongest
    double denser
    long long most_times
    double near
    double ring
    double ring_ends
    double far
    double farthest
    double beside
    double comparable
    double slow
    double pedestal
    double above

cdef struct SeasonalSettings:
    long long averaged
    double memory[3]
    double prior[6]
    double first[6]
    double prior_power
    double bound
    long long tidy
    double power_over
    double robust
    double usual_rate
    long long replayed
    long long replayed_mixture
    double sloped
    double needless
    double useless
    double useful
    double changed
    double other

cdef struct AlarmsSettings:
    long long window
    long long needed
    double sure
    double millionth
    double floor
    double quiet
    double quiet_share
    double rise
    double rise_middle
    double rise_far
    double alone
    double noticed
    long long drifting
    double certain
    double fewest
    double walking
    double improbable
    double often
    long long slow
    double far
    double familiar
    double repeating
    double unpredictable
    double piled
    long long outermost

cdef struct ClockSettings:
    double off
    double irregular
    double regular
    double close
    double rounding
    long long late
    long long most_walked
    long long earned
    long long longest_hole
    long long check_every
    long long first_checks
    long long fitted_over
    double steady
    double drifted
    double rounded
    double most_rounded
    long long each
    double skipped
    double changed
    long long fewest
    double regular_again
    double off_over
    long long parts

cdef struct StampsSettings:
    double better
    long long over
    long long smooth
    double exactly
    long long sure

cdef struct IrregularSettings:
    double hole
    double hole_in_grid
    double apart
    double smoother
    double preferred
    long long over
    long long settled
    long long path_degree
    long long longest_replayed

cdef struct FarSettings:
    double allowed
    double share
    double slow[2]
    long long profile
    long long first
    long long solved_every
    double forgetting[2]
    double ridges[4]
    double discount
    double sharpness
    double handicap
    long long rolled
    double alike
    double stands_out
    double nearly
    double longer
    double better

cdef struct Table:
    double short[1536]
    double long[1280]
    double steady[10][8]
    double prior[119]
    double gain[115]
    double averaging[115]
    double bias_rate[115]
    double short_slope[32][45]
    double long_slope[10][8][7]
    double slope_gain[115]
    double slope_bias[115]
    double slope_left[115]
    double forgetting[4]
    double needed[4]
    double start[4][16]
    double raise_by[11]
    double lower_by[11]
    double normal[11]
    long long longest[4]
    long long sloped[115]
    unsigned long long reach[6]
    unsigned long long block_of[10]
    unsigned long long index[4][16]
    unsigned long long used[4]
    unsigned long long stride[4]
    unsigned long long place[4]
    double discount
    double share
    long long settle
    long long block
    double ceiling
    double season_ceiling
    double shrink_discount
    double shrink_prior[2]
    double prior_solved
    double alternating[2]
    double rounding
    double smallest
    double solved_memory[4]
    double equations
    double prior_power
    double bound
    double farthest
    double doubtful
    long long tidy
    double slowest_mean
    double rate
    double first_rate
    double first_errors
    double seen_beyond
    double excess_allowed
    double tail
    long long tail_over
    double steepest
    double few
    double lowest
    double highest
    double surest
    double decade
    double error_rounding
    double plain
    double unsure
    double fastest_bias
    double patience
    long long spacings
    double gap_fades
    double gap_few
    long long gap_settled
    double gap_sparse
    double gap_reach
    double gap_at_once
    double gap_speed
    double gap_near
    double gap_few_known
    long long stuck
    long long ticks_certain
    double tick_tolerance
    SeasonsSettings seasons
    LinesSettings lines
    SeasonalSettings seasonal
    AlarmsSettings alarms
    ClockSettings clock
    StampsSettings stamps
    IrregularSettings irregular
    FarSettings far

cdef inline dict layouts():
    cdef Record record
    cdef Calibration calibration
    cdef Clock clock
    cdef Samples samples
    cdef Table table
    return {
        "Record": [
            sizeof(Record),
            <char*> &record.hold - <char*> &record,
            <char*> &record.count - <char*> &record,
            <char*> &record.gap - <char*> &record,
            <char*> &record.known - <char*> &record,
            <char*> &record.spacing - <char*> &record,
            <char*> &record.learned - <char*> &record,
            <char*> &record.last - <char*> &record,
            <char*> &record.change - <char*> &record,
            <char*> &record.mean - <char*> &record,
            <char*> &record.lag - <char*> &record,
            <char*> &record.feature - <char*> &record,
            <char*> &record.alternation - <char*> &record,
            <char*> &record.prediction - <char*> &record,
            <char*> &record.weight - <char*> &record,
            <char*> &record.scale - <char*> &record,
            <char*> &record.peak - <char*> &record,
            <char*> &record.last_peak - <char*> &record,
            <char*> &record.error_scale - <char*> &record,
            <char*> &record.error_peak - <char*> &record,
            <char*> &record.last_error_peak - <char*> &record,
            <char*> &record.quantile - <char*> &record,
            <char*> &record.tail - <char*> &record,
            <char*> &record.bias - <char*> &record,
            <char*> &record.squared_bias - <char*> &record,
            <char*> &record.factor - <char*> &record,
            <char*> &record.growth - <char*> &record,
            <char*> &record.readout - <char*> &record,
            <char*> &record.power - <char*> &record,
            <char*> &record.begun - <char*> &record,
            <char*> &record.drift - <char*> &record,
            <char*> &record.alternation_drift - <char*> &record,
            <char*> &record.same - <char*> &record,
            <char*> &record.longest - <char*> &record,
            <char*> &record.rests - <char*> &record,
            <char*> &record.tick - <char*> &record,
            <char*> &record.tick_hits - <char*> &record,
            <char*> &record.tick_misses - <char*> &record,
            <char*> &record.doubts - <char*> &record,
            <char*> &record.doubted - <char*> &record,
            <char*> &record.withheld - <char*> &record,
            <char*> &record.stamps - <char*> &record,
            <char*> &record.stamp_error - <char*> &record,
            <char*> &record.gap_seen - <char*> &record,
            <char*> &record.gap_error - <char*> &record,
            <char*> &record.shrink_ahead - <char*> &record,
            <char*> &record.shrink_weight - <char*> &record,
            <char*> &record.shrink_scale - <char*> &record,
            <char*> &record.shrink_peak - <char*> &record,
            <char*> &record.shrink_last_peak - <char*> &record,
            <char*> &record.shrink_sums - <char*> &record,
            <char*> &record.season_periods - <char*> &record,
            <char*> &record.season_strength - <char*> &record,
            <char*> &record.season_check - <char*> &record,
            <char*> &record.season_on - <char*> &record,
            <char*> &record.season_rest - <char*> &record,
            <char*> &record.season_rests - <char*> &record,
            <char*> &record.season_seen - <char*> &record,
            <char*> &record.season_mixed - <char*> &record,
            <char*> &record.season_since - <char*> &record,
            <char*> &record.season_moves - <char*> &record,
            <char*> &record.season_alone - <char*> &record,
            <char*> &record.season_power - <char*> &record,
            <char*> &record.season_features - <char*> &record,
            <char*> &record.season_weights - <char*> &record,
            <char*> &record.season_factor - <char*> &record,
            <char*> &record.season_growth - <char*> &record,
            <char*> &record.season_size - <char*> &record,
            <char*> &record.season_errors - <char*> &record,
            <char*> &record.season_ahead - <char*> &record,
            <char*> &record.season_mix - <char*> &record,
            <char*> &record.season_scales - <char*> &record,
            <char*> &record.season_peak - <char*> &record,
            <char*> &record.season_last_peak - <char*> &record,
            <char*> &record.season_sums - <char*> &record,
            <char*> &record.season_filled - <char*> &record,
            <char*> &record.season_blocks - <char*> &record,
            <char*> &record.season_means - <char*> &record,
            <char*> &record.alarm - <char*> &record,
            <char*> &record.alarm_seen - <char*> &record,
            <char*> &record.alarm_error - <char*> &record,
            <char*> &record.alarm_exact - <char*> &record,
            <char*> &record.alarm_log - <char*> &record,
            <char*> &record.alarm_sum - <char*> &record,
            <char*> &record.slow_mean - <char*> &record,
            <char*> &record.slow_centre - <char*> &record,
            <char*> &record.slow_square - <char*> &record,
            <char*> &record.slow_since - <char*> &record,
            <char*> &record.slow_apart - <char*> &record,
            <char*> &record.alarm_quantity - <char*> &record,
            <char*> &record.alarm_tail - <char*> &record,
            <char*> &record.alarm_size - <char*> &record,
            <char*> &record.alarm_middle - <char*> &record,
            <char*> &record.alarm_weight - <char*> &record,
            <char*> &record.alarm_records - <char*> &record,
            <char*> &record.alarm_before - <char*> &record,
            <char*> &record.alarm_change - <char*> &record,
            <char*> &record.alarm_square - <char*> &record,
            <char*> &record.alarm_drift - <char*> &record,
            <char*> &record.alarm_origin - <char*> &record,
            <char*> &record.alarm_block - <char*> &record,
            <char*> &record.alarm_place - <char*> &record,
            <char*> &record.alarm_left - <char*> &record,
        ],
        "Calibration": [
            sizeof(Calibration),
            <char*> &calibration.count - <char*> &calibration,
            <char*> &calibration.gap - <char*> &calibration,
            <char*> &calibration.learned - <char*> &calibration,
            <char*> &calibration.last - <char*> &calibration,
            <char*> &calibration.error_scale - <char*> &calibration,
            <char*> &calibration.error_peak - <char*> &calibration,
            <char*> &calibration.last_error_peak - <char*> &calibration,
            <char*> &calibration.quantile - <char*> &calibration,
            <char*> &calibration.tail - <char*> &calibration,
        ],
        "Clock": [
            sizeof(Clock),
            <char*> &clock.count - <char*> &clock,
            <char*> &clock.given - <char*> &clock,
            <char*> &clock.irregular - <char*> &clock,
            <char*> &clock.late - <char*> &clock,
            <char*> &clock.coarse - <char*> &clock,
            <char*> &clock.odd - <char*> &clock,
            <char*> &clock.jumps - <char*> &clock,
            <char*> &clock.walked - <char*> &clock,
            <char*> &clock.dt - <char*> &clock,
            <char*> &clock.last - <char*> &clock,
            <char*> &clock.grid - <char*> &clock,
            <char*> &clock.off - <char*> &clock,
            <char*> &clock.jump - <char*> &clock,
            <char*> &clock.found - <char*> &clock,
            <char*> &clock.start - <char*> &clock,
            <char*> &clock.before - <char*> &clock,
            <char*> &clock.unit - <char*> &clock,
            <char*> &clock.fitted - <char*> &clock,
            <char*> &clock.mean_offset - <char*> &clock,
            <char*> &clock.mean_square - <char*> &clock,
            <char*> &clock.recent - <char*> &clock,
        ],
        "Samples": [
            sizeof(Samples),
            <char*> &samples.value - <char*> &samples,
            <char*> &samples.newest - <char*> &samples,
            <char*> &samples.known - <char*> &samples,
            <char*> &samples.seen - <char*> &samples,
            <char*> &samples.fit - <char*> &samples,
            <char*> &samples.carry - <char*> &samples,
            <char*> &samples.doubts - <char*> &samples,
            <char*> &samples.doubted - <char*> &samples,
            <char*> &samples.alarm - <char*> &samples,
        ],
        "Table": [
            sizeof(Table),
            <char*> &table.short - <char*> &table,
            <char*> &table.long - <char*> &table,
            <char*> &table.steady - <char*> &table,
            <char*> &table.prior - <char*> &table,
            <char*> &table.gain - <char*> &table,
            <char*> &table.averaging - <char*> &table,
            <char*> &table.bias_rate - <char*> &table,
            <char*> &table.short_slope - <char*> &table,
            <char*> &table.long_slope - <char*> &table,
            <char*> &table.slope_gain - <char*> &table,
            <char*> &table.slope_bias - <char*> &table,
            <char*> &table.slope_left - <char*> &table,
            <char*> &table.forgetting - <char*> &table,
            <char*> &table.needed - <char*> &table,
            <char*> &table.start - <char*> &table,
            <char*> &table.raise_by - <char*> &table,
            <char*> &table.lower_by - <char*> &table,
            <char*> &table.normal - <char*> &table,
            <char*> &table.longest - <char*> &table,
            <char*> &table.sloped - <char*> &table,
            <char*> &table.reach - <char*> &table,
            <char*> &table.block_of - <char*> &table,
            <char*> &table.index - <char*> &table,
            <char*> &table.used - <char*> &table,
            <char*> &table.stride - <char*> &table,
            <char*> &table.place - <char*> &table,
            <char*> &table.discount - <char*> &table,
            <char*> &table.share - <char*> &table,
            <char*> &table.settle - <char*> &table,
            <char*> &table.block - <char*> &table,
            <char*> &table.ceiling - <char*> &table,
            <char*> &table.season_ceiling - <char*> &table,
            <char*> &table.shrink_discount - <char*> &table,
            <char*> &table.shrink_prior - <char*> &table,
            <char*> &table.prior_solved - <char*> &table,
            <char*> &table.alternating - <char*> &table,
            <char*> &table.rounding - <char*> &table,
            <char*> &table.smallest - <char*> &table,
            <char*> &table.solved_memory - <char*> &table,
            <char*> &table.equations - <char*> &table,
            <char*> &table.prior_power - <char*> &table,
            <char*> &table.bound - <char*> &table,
            <char*> &table.farthest - <char*> &table,
            <char*> &table.doubtful - <char*> &table,
            <char*> &table.tidy - <char*> &table,
            <char*> &table.slowest_mean - <char*> &table,
            <char*> &table.rate - <char*> &table,
            <char*> &table.first_rate - <char*> &table,
            <char*> &table.first_errors - <char*> &table,
            <char*> &table.seen_beyond - <char*> &table,
            <char*> &table.excess_allowed - <char*> &table,
            <char*> &table.tail - <char*> &table,
            <char*> &table.tail_over - <char*> &table,
            <char*> &table.steepest - <char*> &table,
            <char*> &table.few - <char*> &table,
            <char*> &table.lowest - <char*> &table,
            <char*> &table.highest - <char*> &table,
            <char*> &table.surest - <char*> &table,
            <char*> &table.decade - <char*> &table,
            <char*> &table.error_rounding - <char*> &table,
            <char*> &table.plain - <char*> &table,
            <char*> &table.unsure - <char*> &table,
            <char*> &table.fastest_bias - <char*> &table,
            <char*> &table.patience - <char*> &table,
            <char*> &table.spacings - <char*> &table,
            <char*> &table.gap_fades - <char*> &table,
            <char*> &table.gap_few - <char*> &table,
            <char*> &table.gap_settled - <char*> &table,
            <char*> &table.gap_sparse - <char*> &table,
            <char*> &table.gap_reach - <char*> &table,
            <char*> &table.gap_at_once - <char*> &table,
            <char*> &table.gap_speed - <char*> &table,
            <char*> &table.gap_near - <char*> &table,
            <char*> &table.gap_few_known - <char*> &table,
            <char*> &table.stuck - <char*> &table,
            <char*> &table.ticks_certain - <char*> &table,
            <char*> &table.tick_tolerance - <char*> &table,
            <char*> &table.seasons.first_check - <char*> &table,
            <char*> &table.seasons.check_growth - <char*> &table,
            <char*> &table.seasons.check_every - <char*> &table,
            <char*> &table.seasons.first_long - <char*> &table,
            <char*> &table.seasons.cut - <char*> &table,
            <char*> &table.seasons.least - <char*> &table,
            <char*> &table.seasons.least_of_values - <char*> &table,
            <char*> &table.seasons.white_deviations - <char*> &table,
            <char*> &table.seasons.bartlett_deviations - <char*> &table,
            <char*> &table.seasons.alone - <char*> &table,
            <char*> &table.seasons.certain - <char*> &table,
            <char*> &table.seasons.lasting - <char*> &table,
            <char*> &table.seasons.multiples - <char*> &table,
            <char*> &table.seasons.nearly - <char*> &table,
            <char*> &table.seasons.inside - <char*> &table,
            <char*> &table.seasons.partly - <char*> &table,
            <char*> &table.seasons.decayed - <char*> &table,
            <char*> &table.seasons.by_values - <char*> &table,
            <char*> &table.seasons.unsure - <char*> &table,
            <char*> &table.seasons.full - <char*> &table,
            <char*> &table.seasons.enough - <char*> &table,
            <char*> &table.seasons.remains - <char*> &table,
            <char*> &table.seasons.most_days - <char*> &table,
            <char*> &table.seasons.least_pairs - <char*> &table,
            <char*> &table.seasons.most_parts - <char*> &table,
            <char*> &table.seasons.same - <char*> &table,
            <char*> &table.seasons.stretches - <char*> &table,
            <char*> &table.lines.faint - <char*> &table,
            <char*> &table.lines.noisy - <char*> &table,
            <char*> &table.lines.tolerance - <char*> &table,
            <char*> &table.lines.loosest - <char*> &table,
            <char*> &table.lines.clean - <char*> &table,
            <char*> &table.lines.base - <char*> &table,
            <char*> &table.lines.agreeing - <char*> &table,
            <char*> &table.lines.many - <char*> &table,
            <char*> &table.lines.folded - <char*> &table,
            <char*> &table.lines.strongest - <char*> &table,
            <char*> &table.lines.denser - <char*> &table,
            <char*> &table.lines.most_times - <char*> &table,
            <char*> &table.lines.near - <char*> &table,
            <char*> &table.lines.ring - <char*> &table,
            <char*> &table.lines.ring_ends - <char*> &table,
            <char*> &table.lines.far - <char*> &table,
            <char*> &table.lines.farthest - <char*> &table,
            <char*> &table.lines.beside - <char*> &table,
            <char*> &table.lines.comparable - <char*> &table,
            <char*> &table.lines.slow - <char*> &table,
            <char*> &table.lines.pedestal - <char*> &table,
            <char*> &table.lines.above - <char*> &table,
            <char*> &table.seasonal.averaged - <char*> &table,
            <char*> &table.seasonal.memory - <char*> &table,
            <char*> &table.seasonal.prior - <char*> &table,
            <char*> &table.seasonal.first - <char*> &table,
            <char*> &table.seasonal.prior_power - <char*> &table,
            <char*> &table.seasonal.bound - <char*> &table,
            <char*> &table.seasonal.tidy - <char*> &table,
            <char*> &table.seasonal.power_over - <char*> &table,
            <char*> &table.seasonal.robust - <char*> &table,
            <char*> &table.seasonal.usual_rate - <char*> &table,
            <char*> &table.seasonal.replayed - <char*> &table,
            <char*> &table.seasonal.replayed_mixture - <char*> &table,
            <char*> &table.seasonal.sloped - <char*> &table,
            <char*> &table.seasonal.needless - <char*> &table,
            <char*> &table.seasonal.useless - <char*> &table,
            <char*> &table.seasonal.useful - <char*> &table,
            <char*> &table.seasonal.changed - <char*> &table,
            <char*> &table.seasonal.other - <char*> &table,
            <char*> &table.alarms.window - <char*> &table,
            <char*> &table.alarms.needed - <char*> &table,
            <char*> &table.alarms.sure - <char*> &table,
            <char*> &table.alarms.millionth - <char*> &table,
            <char*> &table.alarms.floor - <char*> &table,
            <char*> &table.alarms.quiet - <char*> &table,
            <char*> &table.alarms.quiet_share - <char*> &table,
            <char*> &table.alarms.rise - <char*> &table,
            <char*> &table.alarms.rise_middle - <char*> &table,
            <char*> &table.alarms.rise_far - <char*> &table,
            <char*> &table.alarms.alone - <char*> &table,
            <char*> &table.alarms.noticed - <char*> &table,
            <char*> &table.alarms.drifting - <char*> &table,
            <char*> &table.alarms.certain - <char*> &table,
            <char*> &table.alarms.fewest - <char*> &table,
            <char*> &table.alarms.walking - <char*> &table,
            <char*> &table.alarms.improbable - <char*> &table,
            <char*> &table.alarms.often - <char*> &table,
            <char*> &table.alarms.slow - <char*> &table,
            <char*> &table.alarms.far - <char*> &table,
            <char*> &table.alarms.familiar - <char*> &table,
            <char*> &table.alarms.repeating - <char*> &table,
            <char*> &table.alarms.unpredictable - <char*> &table,
            <char*> &table.alarms.piled - <char*> &table,
            <char*> &table.alarms.outermost - <char*> &table,
            <char*> &table.clock.off - <char*> &table,
            <char*> &table.clock.irregular - <char*> &table,
            <char*> &table.clock.regular - <char*> &table,
            <char*> &table.clock.close - <char*> &table,
            <char*> &table.clock.rounding - <char*> &table,
            <char*> &table.clock.late - <char*> &table,
            <char*> &table.clock.most_walked - <char*> &table,
            <char*> &table.clock.earned - <char*> &table,
            <char*> &table.clock.longest_hole - <char*> &table,
            <char*> &table.clock.check_every - <char*> &table,
            <char*> &table.clock.first_checks - <char*> &table,
            <char*> &table.clock.fitted_over - <char*> &table,
            <char*> &table.clock.steady - <char*> &table,
            <char*> &table.clock.drifted - <char*> &table,
            <char*> &table.clock.rounded - <char*> &table,
            <char*> &table.clock.most_rounded - <char*> &table,
            <char*> &table.clock.each - <char*> &table,
            <char*> &table.clock.skipped - <char*> &table,
            <char*> &table.clock.changed - <char*> &table,
            <char*> &table.clock.fewest - <char*> &table,
            <char*> &table.clock.regular_again - <char*> &table,
            <char*> &table.clock.off_over - <char*> &table,
            <char*> &table.clock.parts - <char*> &table,
            <char*> &table.stamps.better - <char*> &table,
            <char*> &table.stamps.over - <char*> &table,
            <char*> &table.stamps.smooth - <char*> &table,
            <char*> &table.stamps.exactly - <char*> &table,
            <char*> &table.stamps.sure - <char*> &table,
            <char*> &table.irregular.hole - <char*> &table,
            <char*> &table.irregular.hole_in_grid - <char*> &table,
            <char*> &table.irregular.apart - <char*> &table,
            <char*> &table.irregular.smoother - <char*> &table,
            <char*> &table.irregular.preferred - <char*> &table,
            <char*> &table.irregular.over - <char*> &table,
            <char*> &table.irregular.settled - <char*> &table,
            <char*> &table.irregular.path_degree - <char*> &table,
            <char*> &table.irregular.longest_replayed - <char*> &table,
            <char*> &table.far.allowed - <char*> &table,
            <char*> &table.far.share - <char*> &table,
            <char*> &table.far.slow - <char*> &table,
            <char*> &table.far.profile - <char*> &table,
            <char*> &table.far.first - <char*> &table,
            <char*> &table.far.solved_every - <char*> &table,
            <char*> &table.far.forgetting - <char*> &table,
            <char*> &table.far.ridges - <char*> &table,
            <char*> &table.far.discount - <char*> &table,
            <char*> &table.far.sharpness - <char*> &table,
            <char*> &table.far.handicap - <char*> &table,
            <char*> &table.far.rolled - <char*> &table,
            <char*> &table.far.alike - <char*> &table,
            <char*> &table.far.stands_out - <char*> &table,
            <char*> &table.far.nearly - <char*> &table,
            <char*> &table.far.longer - <char*> &table,
            <char*> &table.far.better - <char*> &table,
        ],
    }
